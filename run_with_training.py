"""Plays Zerg games and learns from them in the background: `python run_with_training.py --help`.

Any Python 3.11 or newer will do. What is missing is installed in `.venv` beside this file, and the run starts there.
"""

import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # before NumPy is imported: the game needs the other cores
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored, as with nohup
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback while modules are imported
    if not all(map(find_spec, ("understudy", "numba", "sc2"))):
        sys.path.insert(0, str(Path(__file__).resolve().parent / "tools"))
        from in_venv import run_for_user

        sys.exit(run_for_user([str(Path(__file__).resolve()), *sys.argv[1:]]))
    from understudy.games.zerg.training_run import main

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
