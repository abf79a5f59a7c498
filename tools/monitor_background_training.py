"""The monitor under the name that users know: `python tools/monitor_background_training.py [RUN_DIR]`."""

from __future__ import annotations

import sys

from understudy.cli import main

if __name__ == "__main__":
    sys.exit(main(["monitor", *sys.argv[1:]]))
