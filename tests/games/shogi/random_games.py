from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy.games.shogi.rules import ShogiGame


def random_positions(seed: int, count: int) -> Iterator[ShogiGame]:
    """The positions of random games, one after the other; each is gone when the next is asked for."""
    rng = np.random.default_rng(seed)
    game = ShogiGame()
    for _ in range(count):
        if game.result is not None:
            game = ShogiGame()
        yield game
        game.push(game.legal_moves[rng.integers(len(game.legal_moves))])
