"""The gate's comparison on the ladder: a push uploads champion and candidate, a pull brings the results of games.

The bot's data is a run directory with its own gate, in mode strict: the champion plays, and the candidate is its
challenger. So games on the ladder are assigned at random, by opponent, as in the run itself, and a block that was
completed there is evidence here. Training on the ladder changes neither of the two.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import math
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import ModelError, RunDirError
from understudy.ledger.gate import GateLedger
from understudy.models.carry_over import fitted
from understudy.models.contest import challenger
from understudy.models.evidence import Played
from understudy.models.gate import Gate, SimulatedPair
from understudy.models.gate_blocks import PlayedBlock
from understudy.models.gate_state import begin
from understudy.models.store import ModelStore
from understudy.rundir import RunDir

logger = logging.getLogger(__name__)

FILE = "comparison.json"
_MOST_BYTES = 200_000_000
_CONTEST = 1  # number of the comparison in the bot's data
_BLOCKS = (
    "SELECT block, opponent, id, role, score, reward FROM gate_blocks JOIN gate_games USING (block)"
    " WHERE contest = ? AND difference IS NOT NULL ORDER BY at, block"
)


@dataclass(frozen=True)
class LadderComparison:
    """What is compared on the ladder: versions of this run, and their numbers there."""

    contest: int
    champion: int
    candidate: int
    weights: str
    """A hash of both models, which distinguishes this run from another with the same version numbers."""
    champion_there: int
    candidate_there: int

    def version_of(self, there: int | None) -> int:
        """The version of this run that played a game on the ladder; what was trained there counts as the candidate."""
        return self.champion if there in (None, self.champion_there) else self.candidate


def comparison_of(run: RunDir) -> SimulatedPair | None:
    """What the gate of this run compares now; None if it compares nothing or there is no gate."""
    gate = Gate(run.ledger, ModelStore(run.model, run.ledger))
    state = gate.look() if run.ledger.exists() else None
    return None if state is None or state.settings.mode == "off" else gate.to_simulate()


def add_comparison(run: RunDir, pair: SimulatedPair, data: RunDir) -> bool:
    """Set up a comparison of the candidate in `data`, which has the champion's model; False if a version is missing."""
    ours = ModelStore(run.model, run.ledger)
    state = Gate(run.ledger, ours).look()
    try:
        candidate = ours.load_version(pair.candidate)
        weights = _weights(ours, pair.champion, pair.candidate)
    except ModelError as error:
        logger.warning("Nothing is compared on the ladder: %s", error)
        return False
    store = ModelStore(data.model, data.ledger)
    gate = Gate(data.ledger, store)
    champion = store.recover()
    assert state is not None, "something is compared"
    assert champion is not None, "data has a model"
    before = gate.use(dataclasses.replace(state.settings, mode="strict"))
    assert before is not None, "it has a model"
    made = store.publish(fitted(candidate, champion), champion, publisher="push")
    contest = challenger("strict", state.settings.margin)
    compares = dataclasses.replace(begin(before, contest), challenger=made.version, budget=contest.budget)
    gate.share(before, compares, f"Version {made.version} is compared with version {champion.version} on the ladder.")
    about = LadderComparison(pair.contest, pair.champion, pair.candidate, weights, champion.version, made.version)
    (data.root / FILE).write_text(json.dumps(dataclasses.asdict(about)), encoding="utf-8")
    return True


def compared_there(run: RunDir, archive: zipfile.ZipFile) -> LadderComparison | None:
    """What the bot's data compares; None if nothing, or versions of another run."""
    if FILE not in archive.namelist() or not run.ledger.exists():
        return None
    try:
        found = LadderComparison(**json.loads(archive.read(FILE)))
        known = _weights(ModelStore(run.model, run.ledger), found.champion, found.candidate)
    except (ValueError, TypeError, ModelError, zipfile.BadZipFile) as error:
        logger.warning("The comparison on the ladder is not one of this run: %s", error)
        return None
    return found if found.weights == known else None


def take_in(run: RunDir, archive: zipfile.ZipFile, compared: LadderComparison) -> tuple[int, bool]:
    """Add the blocks that were completed on the ladder to the evidence, each once.

    Returns how many were new, and whether the comparison continues there: the ladder's own gate may have decided it.
    """
    gate = Gate(run.ledger, ModelStore(run.model, run.ledger))
    try:
        blocks, goes_on = _completed(archive, run.ledger.name)
    except (RunDirError, OSError, zipfile.BadZipFile, ValueError) as error:
        logger.warning("The results of the comparison on the ladder cannot be read: %s", error)
        return 0, False
    versions = (compared.champion, compared.candidate)
    return sum(gate.record_block(compared.contest, block, *versions) for block in blocks), goes_on


def _completed(archive: zipfile.ZipFile, ledger: str) -> tuple[list[PlayedBlock], bool]:
    """The completed blocks of the comparison in the data, in order, and whether it continues."""
    with tempfile.TemporaryDirectory(prefix="understudy-pull-", ignore_cleanup_errors=True) as folder:
        for info in archive.infolist():
            if info.filename in (ledger, f"{ledger}-wal") and info.file_size <= _MOST_BYTES:
                (Path(folder) / info.filename).write_bytes(archive.read(info))
        with GateLedger.copy_of(Path(folder) / ledger) as found:
            rows, state = found.query(_BLOCKS, (_CONTEST,)), found.state() or {}
    blocks: dict[int, PlayedBlock] = {}
    for number, opponent, game, role, score, reward in rows:
        block = blocks.setdefault(number, PlayedBlock(str(opponent), [], []))
        side = block.candidate if role == "challenger" else block.champion
        side.append((str(game), Played(_share(score), _number(reward))))
    goes_on = state.get("number") == _CONTEST and state.get("contest") is not None
    return [block for block in blocks.values() if block.candidate and block.champion], goes_on


def _share(score: object) -> float | None:
    return None if score is None else min(max(float(str(score)), 0.0), 1.0)


def _number(reward: object) -> float:
    value = float(str(reward))
    if math.isnan(value):
        raise ValueError("a reward is not a number")
    return value


def _weights(store: ModelStore, *versions: int) -> str:
    digest = hashlib.sha256()
    for version in versions:
        digest.update(store.load_version(version).arrays["parameters"].tobytes())
    return digest.hexdigest()
