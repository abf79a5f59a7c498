"""One check, and the count of a group of checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Check:
    """One check; `detail` says what was observed."""

    name: str
    passed: bool
    detail: str = ""


@dataclass
class GroupReport:
    """How many checks of a group passed, and those that did not."""

    name: str
    passed: int = 0
    total: int = 0
    failures: list[Check] = field(default_factory=list)
    remark: str = ""  # a measurement, for reports in which the count does not include it

    @classmethod
    def of(cls, name: str, checks: Iterable[Check]) -> GroupReport:
        """Run and count all checks."""
        report = cls(name)
        for check in checks:
            report.total += 1
            report.passed += check.passed
            if not check.passed:
                report.failures.append(check)
        return report

    @property
    def holds(self) -> bool:
        """Whether there were checks and all of them passed."""
        return self.total > 0 and self.passed == self.total

    def __str__(self) -> str:
        return f"{self.name:28} {self.passed:4} of {self.total}"
