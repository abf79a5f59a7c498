"""The error of the ladder's commands."""

from understudy.errors import UnderstudyError


class ArenaError(UnderstudyError):
    """AI Arena refuses a request, cannot be reached, or what is there does not fit; the message says what to do."""
