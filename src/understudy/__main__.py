"""`python -m understudy`."""

import sys

from understudy.cli import main

sys.exit(main())
