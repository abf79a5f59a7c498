"""The error of the ladder's commands."""

from understudy.errors import UnderstudyError


class ArenaError(UnderstudyError):
    """AI Arena refuses a request or cannot be reached, or its data does not fit; the message says what to do."""
