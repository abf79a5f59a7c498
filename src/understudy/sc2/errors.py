"""The error of replay analysis."""

from understudy.errors import UnderstudyError


class ReplayError(UnderstudyError):
    """A replay, or a file of build orders, that cannot be used; the message is the reason shown to people."""
