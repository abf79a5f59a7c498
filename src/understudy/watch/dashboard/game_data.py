"""One recorded game as data for its page: states, decisions and their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.acting import sampling
from understudy.errors import ModelError, ModelMissing
from understudy.experience.episode import Episode, EpisodeMeta, features_hash, read_episode
from understudy.experience.notes import RECORDING
from understudy.games.spec import all_axes, axis_title, registered_games, resolve
from understudy.ledger.history import PURPOSE, TRIAL
from understudy.models.live import LiveModel
from understudy.models.store import ModelStore
from understudy.networks.network import Floats
from understudy.rundir import RunDir
from understudy.settings import StorageSettings
from understudy.watch import formats

MOST_SHOWN = 2000  # decisions shown of a very long game
_AGREE = 1e-3


@dataclass(frozen=True, slots=True)
class GameView:
    """A game, with its first decisions. `probabilities` has a column for each label."""

    episode: Episode
    shown: int
    labels: tuple[str, ...]
    features: tuple[str, ...]
    probabilities: NDArray[np.float64] | None  # (shown, A): of every action, if they could be computed
    chosen: NDArray[np.float64] | None  # (shown,): of the action taken
    values: NDArray[np.float64] | None
    source: str  # where the probabilities come from, in words


def view_game(run: RunDir, path: Path) -> GameView:
    """Read a game of a run; EpisodeError if it is unusable, OSError if its file was removed."""
    episode = read_episode(path, StorageSettings())
    shown = min(len(episode), MOST_SHOWN)
    recorded = None if episode.log_probs is None else np.exp(episode.log_probs[:shown].astype(np.float64))
    values = None if episode.values is None else episode.values[:shown].astype(np.float64)
    probabilities, source = _recomputed(run, episode, shown, recorded)
    chosen = recorded
    if chosen is None and probabilities is not None:
        chosen = probabilities[np.arange(shown), episode.actions[:shown]]
    return GameView(
        episode, shown, _labels(episode, probabilities), _features(episode), probabilities, chosen, values, source
    )


def policy_over(model: LiveModel, episode: Episode, shown: int) -> NDArray[np.float64]:
    """The probabilities that this model gives each action in the states of a game, exploration included."""
    model.network.begin_episode()
    normalized = np.zeros(episode.states.shape[1], np.float32)
    rows: list[Floats] = []
    for number in range(shown):
        logits, _ = model.network.step(model.trainer.normalizer.apply(episode.states[number], normalized))
        rows.append(logits.copy())
    legal = None if episode.legal is None else episode.legal[:shown]
    return sampling.probabilities(np.array(rows), legal, model.exploration)


def _recomputed(
    run: RunDir, episode: Episode, shown: int, recorded: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64] | None, str]:
    """The probabilities of every action, if the version that played still exists; and their origin, in words."""
    only = "Only the probability of the action taken was recorded." if recorded is not None else "None were recorded."
    version = episode.meta.model_version
    if version is None:
        return None, f"{only} The file does not say which version of the model played."
    try:
        model = LiveModel(ModelStore(run.model, run.ledger).load_version(version))
    except ModelMissing:
        return None, f"{only} Version {version}, which played, is no longer kept."
    except ModelError as error:
        return None, f"{only} Version {version}, which played, cannot be used: {error}"
    if episode.states.shape[1] != model.base.spec.state_dim:
        return None, f"{only} Version {version} is a model with other features."
    probabilities = policy_over(model, episode, shown)
    return probabilities, f"Computed with version {version}, which played{_agreement(probabilities, episode, recorded)}"


def _agreement(probabilities: NDArray[np.float64], episode: Episode, recorded: NDArray[np.float64] | None) -> str:
    """How well the computed probabilities agree with the recorded ones."""
    if recorded is None:
        return "."
    shown = len(probabilities)
    apart = float(np.abs(probabilities[np.arange(shown), episode.actions[:shown]] - recorded).max())
    if apart < _AGREE:
        return "; they agree with the recorded probabilities of the actions taken."
    if (recorded > 1 - _AGREE).all():
        return ". The bot did not sample: it took the most probable action."
    trial = episode.meta.extra.get(PURPOSE) == TRIAL
    why = "since this game was a trial, which keeps to one action" if trial else "since the bot had trained meanwhile"
    return f"; the recorded probabilities of the actions taken differ by up to {apart:.2g}, {why}."


def _labels(episode: Episode, probabilities: NDArray[np.float64] | None) -> tuple[str, ...]:
    if episode.meta.actions is not None:
        return episode.meta.actions
    count = int(episode.actions.max()) + 1 if probabilities is None else probabilities.shape[1]
    return tuple(f"action {number}" for number in range(count))


def _features(episode: Episode) -> tuple[str, ...]:
    for spec in registered_games().values():
        names: Sequence[str] = () if spec.features is None else resolve(spec.features)
        if names and features_hash(names) == episode.meta.features_hash:
            return tuple(names)
    return tuple(f"feature {number}" for number in range(episode.states.shape[1]))


def as_facts(view: GameView) -> list[tuple[str, Any]]:
    """Facts about the whole game: the fields of its meta, then its notes with the titles that games declare."""
    meta = view.episode.meta
    rows: list[tuple[str, Any]] = [
        ("Game", " on ".join(part for part in (meta.game, meta.map) if part)),
        ("Opponent", meta.opponent_id),
        *((axis.title, getattr(meta, axis.note, None)) for axis in all_axes() if axis.note not in meta.extra),
        *((axis_title(note), formats.note(value)) for note, value in _own_notes(meta).items()),
        ("Played by", None if meta.model_version is None else f"version {meta.model_version}"),
        ("Decisions", f"{len(view.episode):,}"),
        ("Reward", formats.signed(float(view.episode.rewards.sum()))),
        ("Duration", _duration(meta.ended_at - meta.started_at)),
        ("Cut short", "yes; the value of the rest is estimated" if meta.truncated else None),
        ("Id", meta.id),
    ]
    return [(name, value) for name, value in rows if value not in (None, "")]


def _own_notes(meta: EpisodeMeta) -> dict[str, Any]:
    """The notes that add something to the result axes; a recording has its own link."""
    declared = {axis.note: getattr(meta, axis.note, None) for axis in all_axes() if axis.note not in meta.extra}
    said = [value for value in declared.values() if value]
    return {note: value for note, value in meta.extra.items() if note != RECORDING and value not in said}


def _duration(seconds: float) -> str | None:
    if not math.isfinite(seconds) or seconds <= 0:
        return None
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60}:{int(seconds) % 60:02} min"
