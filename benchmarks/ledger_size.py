"""How large does the ledger of a run become? `python benchmarks/ledger_size.py` plays its part without playing.

It records games as a learner does until old rows are deleted, measures how much each game then adds to the file,
and states from that the size after one game a second for a year.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from understudy.ledger import connection, history
from understudy.ledger.rows import LedgerGame
from understudy.settings import StorageSettings

YEAR = 365 * 24 * 3600
LABELS = ("ECONOMY", "AGGRESSIVE", "DEFENSIVE", "TECH", "ALL_IN")
STATS = (
    "entropy approx_kl clip_fraction explained_variance policy_loss value_loss gradient_norm staleness epochs lr "
    "effective_sample_size mean_return mean_length updates"
)


SCALE = 400  # bounds are this much smaller here, so that they are reached within minutes


def main() -> None:
    """Print a table and the size after a year."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=120_000)
    parser.add_argument("--batch", type=int, default=10, help="games that a version is trained on (default: 10)")
    options = parser.parse_args()
    history.KEPT_VERSIONS //= SCALE
    history.KEPT_BLOCKS = {size: kept // SCALE for size, kept in history.KEPT_BLOCKS.items()}
    connection._FORGET_EVERY = 50
    memory = Path("/dev/shm")  # no waiting for a disk
    with tempfile.TemporaryDirectory(prefix="understudy-ledger-", dir=memory if memory.is_dir() else None) as folder:
        sizes = _grown(Path(folder) / "understudy.sqlite", options.games, options.batch)
    for count, size in sizes:
        print(f"{count:>10,} games {size / 1e6:8.2f} MB")
    (some, before), (many, after) = sizes[len(sizes) // 2], sizes[-1]
    each = (after - before) / (many - some)
    bounded = (before - some * each) * SCALE
    print(f"bounded part {bounded / 1e9:.2f} GB, and {each:.1f} bytes for each game that is only counted")
    print(f"one game a second for a year: {(bounded + YEAR * each) / 1e9:.2f} GB")


def _grown(path: Path, games: int, batch: int) -> list[tuple[int, int]]:
    """(games, bytes of the file) at ten moments."""
    dice, keep = random.Random(0), StorageSettings().ledger_games // SCALE
    sizes = []
    with connection.Ledger(path) as ledger:
        began = time.time() - games
        for version in range(1, games // batch + 1):
            done = (version - 1) * batch
            played = [_game(done + i, began + done + i, version, dice) for i in range(batch)]
            stats = {name: dice.random() for name in STATS.split()} | {"loss": dice.random()}
            ledger.record_version(version, version - 1 or None, "learner", played, stats)
            ledger.forget_games(keep)
            if version % (games // batch // 10) == 0:
                ledger.query("PRAGMA wal_checkpoint(TRUNCATE)")
                sizes.append((done + batch, path.stat().st_size))
    return sizes


def _game(number: int, at: float, version: int, dice: random.Random) -> LedgerGame:
    return LedgerGame(
        id=f"{number:016x}",
        name=f"game_20260125_143022_Victory_{number:016x}.npz",
        result=dice.choice(("Victory", "Defeat")),
        steps=120,
        reward=dice.random(),
        bytes=20_000,
        game="zerg",
        map=dice.choice(("ProvingGround-1", "ProvingGround-2")),
        opponent=dice.choice(("Terran CheatMoney", "Zerg CheatInsane", "Protoss Hard")),
        played_by=version,
        started=at - 60,
        ended=at,
        actions={label: dice.randint(1, 50) for label in LABELS},
        axes={"race": dice.choice(("Terran", "Zerg", "Protoss")), "difficulty": dice.choice(("Hard", "CheatMoney"))},
    )


if __name__ == "__main__":
    main()
