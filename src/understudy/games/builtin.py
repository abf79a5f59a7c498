"""The specs of the small built-in games. A game with its own package has its spec there."""

from __future__ import annotations

from understudy.games.spec import GameSpec

DRIFT = GameSpec(name="drift", title="Drift", matches="understudy.games.drift:Drift")
TICTACTOE = GameSpec(name="tictactoe", title="Tic-tac-toe", matches="understudy.games.tictactoe:TicTacToe")
GYM = GameSpec(name="gym", title="Gymnasium", matches="understudy.games.gym:open_environment")
