"""`python -m understudy`, and the command `understudy`."""

import signal
import sys


def run() -> int:
    """Run the command line. Ctrl-C during the imports ends the process at once, without a traceback."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # otherwise Ctrl-C is ignored, as with nohup
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from understudy.cli import program  # noqa: PLC0415 - this is what takes the time

    try:
        if heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return program()
    except KeyboardInterrupt:  # before or after what `program` guards
        return 130
    finally:
        if heard:  # another Ctrl-C while Python waits for threads and processes
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(run())
