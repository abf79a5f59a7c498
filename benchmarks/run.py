"""All benchmarks, one subject after the other, each in a separate process with one BLAS thread; about 8 minutes.

python benchmarks/run.py                     every subject
python benchmarks/run.py decision training   some of them
python benchmarks/run.py --json results.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from understudy.machine.priority import ONE_BLAS_THREAD

SUBJECTS = (
    "decision",
    "training",
    "files",
    "latency",
    "sidecar",
    "live_loop",
    "keeping_up",
    "selfplay",
    "shogi_rules",
    "shogi_network",
    "shogi_selfplay",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"of {', '.join(SUBJECTS)} (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows of all subjects to this file")
    options = parser.parse_args()
    if unknown := set(options.subjects) - set(SUBJECTS):
        parser.error(f"there is no subject {', '.join(sorted(unknown))}")
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, one BLAS thread each")
    if hasattr(os, "getloadavg"):  # not on Windows
        print(f"Load before the start: {os.getloadavg()[0]:.1f}. On a busy machine, trust the ratios only.")
    results = {subject: measured(subject) for subject in options.subjects or SUBJECTS}
    failed = [subject for subject, rows in results.items() if rows is None]
    summarise([row for rows in results.values() for row in rows or ()], failed)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")
    return 1 if failed else 0


def measured(subject: str) -> list[dict[str, Any]] | None:
    """The rows of one subject, which has printed its table; None if it failed, which it has said."""
    script = Path(__file__).with_name(f"{subject}.py")
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.json"
        command = [sys.executable, str(script), "--json", str(rows)]
        if subprocess.run(command, env={**os.environ, **ONE_BLAS_THREAD}, check=False).returncode:
            return None
        found: list[dict[str, Any]] = json.loads(rows.read_text(encoding="utf-8"))
        return found


def summarise(rows: list[dict[str, Any]], failed: list[str]) -> None:
    """Say how many targets were reached, and which were not."""
    aims = [row for row in rows if row["reached"] is not None]
    missed = [row for row in aims if not row["reached"]]
    print(f"\nTargets reached: {len(aims) - len(missed)} of {len(aims)}")
    for row in missed:
        against = "" if row["theirs"] is None else f", {row['peer']} {row['theirs']:.3g}"
        print(f"  missed: {row['what']}: {row['ours']:.3g} {row['unit']} (target {row['target']}{against})")
    for subject in failed:
        print(f"  failed: {subject}")


if __name__ == "__main__":
    sys.exit(main())
