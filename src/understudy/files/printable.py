"""Text from files and other programs, made safe to print.

A terminal interprets control characters: a name with an escape sequence could move the cursor, hide lines or set the
title of the window. Each such character is replaced by exactly one other, so widths and positions stay the same.
"""

from __future__ import annotations

import unicodedata

_SHOWN_AS = "\N{REPLACEMENT CHARACTER}"
_UNSAFE = {
    code: _SHOWN_AS
    for code in (*range(0xA0), *range(0x200B, 0x2010), *range(0x2028, 0x2070), 0xFEFF)
    if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp") and chr(code) not in "\n\t"
}
_UNSAFE_IN_A_LINE = _UNSAFE | {ord("\n"): _SHOWN_AS, ord("\t"): " "}


def printable(text: str) -> str:
    """The text without control characters and characters that change the writing direction; newlines and tabs stay."""
    return text.translate(_UNSAFE)


def in_one_line(text: str) -> str:
    """As `printable`, also without newlines and tabs."""
    return text.translate(_UNSAFE_IN_A_LINE)
