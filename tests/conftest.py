"""One BLAS thread, as the product runs: two collapse when anything else wants a core."""

from __future__ import annotations

import os

from understudy.background.priority import ONE_BLAS_THREAD

os.environ.update(ONE_BLAS_THREAD)
