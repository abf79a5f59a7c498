"""Does imitating replays help a new policy? python tools/warm_start_check.py FOLDER [GAMES]

FOLDER holds StarCraft II replays. A policy that imitated their winners and an untrained one of the same seed play GAMES
(200) games of the fixed mix on the direct environment, the same ones, none of which training uses. It takes minutes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from understudy.background.evaluation import compare
from understudy.background.reports import evaluation
from understudy.errors import ReplayError
from understudy.games.zerg.direct.evaluation import evaluate
from understudy.games.zerg.policy import zerg_agent
from understudy.games.zerg.replays.examples import examples
from understudy.games.zerg.replays.warm_start import warm_start
from understudy.rundir import RunDir
from understudy.settings import ReplaySettings

_PART = 20


def main(folder: Path, games: int = 200) -> int:
    """Compare the two and say how it went; 0 if the warm start is shown to help."""
    limits, winners = ReplaySettings(), []
    for path in sorted(folder.rglob("*.SC2Replay")):
        try:
            winners += examples(str(path), limits.file_bytes, limits.starting_workers)["games"]
        except ReplayError as error:
            print(f"{path.name}: {error}")
    with tempfile.TemporaryDirectory() as scratch:
        untrained, warm = RunDir.at(Path(scratch, "untrained")), RunDir.at(Path(scratch, "warm"))
        zerg_agent(untrained.root, seed=0).close()
        done = warm_start(warm, winners, seed=0)
        print(f"{done.games} games, {done.examples} examples; {done.imitation}", flush=True)
        results = dict.fromkeys((untrained, warm), "")
        for first in range(0, games, _PART):
            for run in results:
                results[run] += evaluate(str(run.model), first, min(_PART, games - first), sample=True)["results"]
            print(f"{len(results[warm])} games each", flush=True)
    before = dict(enumerate(results[untrained]))
    verdict = compare(2, dict(enumerate(results[warm])), 1, before)
    print(f"untrained (version 1): {evaluation(compare(1, before).as_dict())}")
    print(f"warm start (version 2): {evaluation(verdict.as_dict())}")
    return 0 if verdict.verdict == "better" else 1


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), *map(int, sys.argv[2:])))
