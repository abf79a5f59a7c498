"""Plays Zerg games and learns from them in the background: `python run_with_training.py --help`."""

import os
import sys

if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # before NumPy is imported: the game needs the other cores
    from understudy.games.zerg.training_run import main

    sys.exit(main())
