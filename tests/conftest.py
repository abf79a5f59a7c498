"""One BLAS thread, as the product runs: two collapse when anything else wants a core. And no end but pytest's own."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from understudy.machine.priority import ONE_BLAS_THREAD

os.environ.update(ONE_BLAS_THREAD)
_end = os._exit


def _end_loudly(status: int) -> NoReturn:
    """Code of the product that ends its process must not end the tests as if all had passed."""
    print(f"\nos._exit({status}) in the process of the tests: those that follow were not run.", file=sys.stderr)
    _end(status or 70)


os._exit = _end_loudly
