"""Running statistics of states and value targets, which make learning independent of scale and robust to outliers.

All statistics are sums that fade: beyond a horizon of decisions, older ones count less and less. The sums of two
processes can be added.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.networks.network import Floats, Integers

LIMIT = 10.0
"""Normalised states and value targets are clipped to ± this."""
HORIZON = 2.0**18
"""The horizon of the statistics of states, in decisions."""
_LOW, _HIGH = np.array(-LIMIT, np.float32), np.array(LIMIT, np.float32)
EARLY = 1024
"""Decisions; with fewer, the past says little about the usual range."""
_FEW = 0.01  # share of the rows of an early batch that may be outliers; at least one row
_SMALL = 0.1  # changes of statistics up to this many standard deviations are compensated in the network
_FAR = 2 * LIMIT  # standard deviations from the mean beyond which a value is clipped
_REPORTED = 10 * LIMIT  # and beyond which it is reported; rare but correct values lie between the two

Wide = NDArray[np.float64]


class Shift(NamedTuple):
    """How normalised states moved: the old value x is now (x − offset) / gain, for each feature."""

    gain: NDArray[np.float32]
    offset: NDArray[np.float32]


class Outlier(NamedTuple):
    """A feature whose value, in this row of the batch, lies far outside its range."""

    feature: int
    row: int
    value: float


class StateNormalizer:
    """Normalises every feature to mean 0 and standard deviation 1, clipped to ±10. If disabled, it changes nothing.

    The state is `count`, `sums` and `squares`. States are float32, whose squares are exact in float64: 53 bits are
    enough for any standard deviation that float32 can express.
    """

    limit = LIMIT

    def __init__(self, state_dim: int, enabled: bool = True) -> None:
        self.enabled = enabled
        self.outliers: list[Outlier] = []
        """For each feature with outliers in the last update, the value that was farthest out."""
        self.restore(np.zeros(1), np.zeros(state_dim), np.zeros(state_dim))

    def update(self, states: Floats) -> Shift | None:
        """Include the states (N, S); returns the shift of normalised states if the network should compensate for it.

        An outlier counts as if it were at the limit: a single value has little effect, but a new range is followed.
        """
        self.outliers = []
        if not self.enabled:
            return None
        mean, scale, seen = self.mean, self.scale, self.count[0]
        wide = self._with_outliers_at_the_edge(states.astype(np.float64))
        ones = np.ones(len(wide))
        keep = fading(seen, len(wide), HORIZON)
        sums = keep * self.sums + ones @ wide
        squares = keep * self.squares + ones @ np.square(wide, out=wide)
        self.restore(keep * self.count + len(wide), sums, squares)
        return _small(Shift(scale / self.scale, (self.mean - mean) * scale)) if seen else None

    def _with_outliers_at_the_edge(self, wide: Wide) -> Wide:
        early = self.count[0] < EARLY
        middle = np.median(wide, axis=0) if early else self.mean.astype(np.float64)
        usual = self._usual(wide, middle, early)
        farthest = np.maximum(wide.max(axis=0) - middle, middle - wide.min(axis=0))
        if not (farthest > _FAR * usual).any():
            return wide
        reported = np.flatnonzero(farthest > _REPORTED * usual)
        rows = np.abs(wide[:, reported] - middle[reported]).argmax(axis=0)
        self.outliers = [
            Outlier(f, r, float(wide[r, f])) for f, r in zip(reported.tolist(), rows.tolist(), strict=True)
        ]
        return wide.clip(middle - _FAR * usual, middle + _FAR * usual)

    def _usual(self, wide: Wide, middle: Wide, early: bool) -> Wide:
        """The standard deviation of each feature from earlier states; early on, also from most rows of this batch."""
        spread = np.where(self.varies, 1 / self.scale.astype(np.float64), 0)
        if early:
            distance = np.abs(wide - middle)
            most = len(wide) - max(1, int(_FEW * len(wide)))
            nearest = np.partition(distance, most, axis=0)[:most] if most else distance
            spread = np.maximum(spread, np.sqrt(np.square(nearest).mean(axis=0)))
        return np.where(spread > 0, spread, 1.0)

    def restore(self, count: Wide, sums: Wide, squares: Wide) -> None:
        """Continue from `count` (1,), `sums` (S,) and `squares` (S,)."""
        self.count, self.sums, self.squares = count, sums, squares
        mean = sums / np.maximum(count, 1)
        variance = squares / np.maximum(count, 1) - np.square(mean)
        # A standard deviation below a millionth of the mean is rounding: the feature is constant and is only centred.
        self.varies = variance > 1e-12 * np.square(mean)
        self.mean = mean.astype(np.float32)
        self.scale = (1 / np.sqrt(np.where(self.varies, variance, 1))).astype(np.float32)

    def apply(self, states: Floats, out: Floats | None = None) -> Floats:
        """The normalised states, (N, S) or (S,), in `out` or a new array; if disabled, the states themselves."""
        if not self.enabled:
            return states
        out = np.subtract(states, self.mean, out)
        np.multiply(out, self.scale, out)
        return out.clip(_LOW, _HIGH, out)


VALUE_HORIZON, ADVANTAGE_HORIZON = 2.0**14, 2.0**12
"""The horizons of the statistics of value targets and of advantages, in decisions."""
LEAST_SHARE = 0.05
"""As a share of the largest value so far: a smaller standard deviation of targets, or size of advantages, is noise."""
_PRIOR = 32.0  # the weight of `prior` in decisions: one game does not show how much games differ


class ValueNormalizer:
    """Mean and standard deviation of value targets, and the size of advantages: rewards may have any scale.

    The network's output v stands for the value `mean` + `spread`·v (PopArt: van Hasselt et al. 2016). If disabled, v is
    the value.
    """

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled
        self.prior = 0.0
        """The target assumed at first: the one closest to 0 that the rewards allow."""
        self.peaks = np.zeros(2)
        """The largest standard deviation of targets and the largest size of advantages so far. Far below is noise."""
        self.loudness = 1.0
        """The size of the last advantages as a share of the least that is not noise, at most 1."""
        self.sums: Wide = np.zeros(STATISTICS)
        self.restore(self.sums)

    def update(self, targets: Floats, learned: bool = False) -> tuple[float, float]:
        """Include targets (N,); returns (gain, offset): the old output v of a value becomes gain·v + offset.

        `learned` says that v was learned before these statistics began.
        """
        if not self.enabled:
            return 1.0, 0.0
        mean, spread, n = self.mean, self.spread, len(targets)
        wide = targets.astype(np.float64)
        wide = wide.clip(mean - self.far, mean + self.far)
        count, total, squares = fading(self.sums[0], n, VALUE_HORIZON) * self.sums[:3]
        self.restore(np.array([count + n, total + wide.sum(), squares + np.dot(wide, wide), *self.sums[3:]]))
        self._note_peaks(self.spread if self.sums[0] >= EARLY else 0.0, 0.0)
        gain, offset = spread / self.spread, (mean - self.mean) / self.spread
        # Until the statistics settle, the network's outputs are best interpreted with the new ones.
        settled = self.sums[0] >= VALUE_HORIZON or (abs(np.log(gain)) < _SMALL and abs(offset) < _SMALL)
        return (gain, offset) if settled or learned else (1.0, 0.0)

    @property
    def far(self) -> float:
        """The distance from the mean beyond which a target is an outlier; infinite at first."""
        return _FAR * self.spread if self.sums[0] >= EARLY else np.inf

    def scale_advantages(self, advantages: Floats, fresh: int | None = None) -> NDArray[np.float32]:
        """Advantages (T,) divided by their usual size, without centring: a won game keeps positive advantages.

        The usual size comes from the first `fresh` advantages of each batch. If this batch has a larger size, that is
        used.
        """
        wide = advantages.astype(np.float64)
        usual = wide[:fresh]
        square = float(np.dot(usual, usual))
        n = len(usual)
        if self.sums[3] >= EARLY and self.sums[4] > 0:  # one extreme advantage must not make all later ones small
            far = _FAR * np.sqrt(self.sums[4] / self.sums[3])
            usual = usual.clip(-far, far)
        count, squares = fading(self.sums[3], n, ADVANTAGE_HORIZON) * self.sums[3:] + (n, np.dot(usual, usual))
        self.sums = np.array([*self.sums[:3], count, squares])
        self._note_peaks(0.0, math.sqrt(squares / count) if count >= EARLY else 0.0)
        found, least = math.sqrt(max(squares / count, square / n)), LEAST_SHARE * float(self.peaks[1])
        size = max(found, least)
        self.loudness = found / size if size > 0 else 1.0
        return (wide / size).clip(-LIMIT, LIMIT).astype(np.float32) if size > 0 else advantages.astype(np.float32)

    def _note_peaks(self, spread: float, size: float) -> None:
        self.peaks = np.maximum(self.peaks, [spread, size])

    def in_units(self, advantage: float) -> float:
        """An advantage divided by the usual size."""
        count, squares = self.sums[3:].tolist()
        size = max(math.sqrt(squares / count), LEAST_SHARE * float(self.peaks[1])) if count else 0.0
        return advantage / size if size > 0 else 0.0

    def restore(self, sums: Wide) -> None:
        """Continue from `sums` (5,): count, sum and squares of targets; count and squares of advantages."""
        self.sums = sums
        assumed = _PRIOR * max(0.0, 1 - sums[0] / EARLY)
        count = sums[0] + assumed
        mean = (sums[1] + assumed * self.prior) / count
        variance = (sums[2] + assumed * self.prior**2) / count - mean * mean
        varies = self.enabled and variance > 1e-12 * mean * mean and sums[0] > 0
        self.mean = float(mean) if self.enabled and sums[0] else 0.0
        self.spread = max(float(np.sqrt(variance)), LEAST_SHARE * float(self.peaks[0])) if varies else 1.0

    def normalize(self, values: Floats) -> NDArray[np.float32]:
        """(value − mean) / spread, (N,): values as the network outputs them."""
        return ((values.astype(np.float64) - self.mean) / self.spread).clip(-LIMIT, LIMIT).astype(np.float32)

    def expand(self, outputs: Floats) -> Floats:
        """mean + spread · v, (N,): outputs of the network as values."""
        if not self.enabled:
            return outputs
        expanded: Floats = (self.mean + self.spread * outputs.astype(np.float64)).astype(outputs.dtype)
        return expanded


class RewardRange:
    """The smallest and largest rewards so far, which bound the possible values of states.

    A network may predict any value for states that it has rarely seen, and where a game is cut off, the prediction
    becomes a target. Without a bound, values rose beyond all rewards, and the policy followed them. A bound also gives
    the order of magnitude before anything is learned. The state is `seen` (3,): −lowest, highest, and 1 if any game
    ended.
    """

    def __init__(self) -> None:
        self.seen = NO_REWARDS.copy()

    def update(self, rewards: Floats, ended: bool) -> None:
        """Include rewards (N,); `ended` says that at least one of their games was finished, not cut off."""
        self.seen = np.maximum(self.seen, [-float(rewards.min()), float(rewards.max()), float(ended)])

    def bounds(self, gamma: float) -> tuple[float, float]:
        """The smallest and largest possible value of a state that is followed by at least one reward.

        An endless game returns between lowest / (1 − γ) and highest / (1 − γ). A game that ends may also stop after its
        first reward. The same is assumed while all rewards are equal: then only an end can make a difference, and
        untried actions should have an optimistic value.
        """
        low, high, over = -float(self.seen[0]), float(self.seen[1]), bool(self.seen[2])
        if gamma >= 1 or low > high:
            return -np.inf, np.inf
        least, most = low / (1 - gamma), high / (1 - gamma)
        return (min(least, low), max(most, high)) if over or low == high else (least, most)


_LEAST = float(np.finfo(np.float64).min)
NO_REWARDS = np.array([_LEAST, _LEAST, 0.0])  # finite, as everything in a model file is
STATISTICS = 5
BINS = 128
_EXACT = 64  # the first decisions have a bin each; later ones share bins, eight for each doubling
_GAMES = 256.0  # the horizon of a bin, in games
_SHRINK = 8.0  # prior: this many games without any difference


class ClockBaseline:
    """A baseline by decision number, for the part of the value that depends on time and that states do not show.

    In a game of fixed length that pays for every decision, the remaining return depends only on the time. The mean of
    (target − value) over past games, for each decision number, captures this. The state is `sums`: counts and sums.
    """

    def __init__(self) -> None:
        self.sums = np.zeros((2, BINS))

    def of(self, numbers: Integers) -> Floats:
        """The mean of target − value (T,) for decisions with these numbers (T,), counted from 0 in each game."""
        table = self.sums[1] / (self.sums[0] + _SHRINK)
        return np.asarray(table[_bins(numbers)])

    def update(self, numbers: Integers, residuals: Floats) -> None:
        """Include differences target − value (T,) of decisions with these numbers (T,)."""
        bins = _bins(numbers)
        counts = np.bincount(bins, minlength=BINS)
        totals = np.bincount(bins, residuals, minlength=BINS)
        keep = np.minimum(1.0, np.maximum(_GAMES - counts, 0) / np.maximum(self.sums[0], 1e-9))
        keep[counts == 0] = 1.0
        self.sums = keep * self.sums + np.array([counts, totals])


def _bins(numbers: Integers) -> Integers:
    late = _EXACT + np.floor(8 * np.log2(np.maximum(numbers, _EXACT) / _EXACT)).astype(np.int64)
    return np.minimum(np.where(numbers < _EXACT, numbers, late), BINS - 1)


def _small(shift: Shift) -> Shift:
    """The shift of the features that hardly moved; the others have not found their range yet."""
    settled = (np.abs(np.log(shift.gain)) < _SMALL) & (np.abs(shift.offset) < _SMALL)
    return Shift(np.where(settled, shift.gain, np.float32(1)), np.where(settled, shift.offset, np.float32(0)))


def fading(count: float, new: int, horizon: float) -> float:
    """The factor for the sums of `count` earlier decisions, so that with `new` ones they cover at most `horizon`."""
    return min(1.0, max(horizon - new, 0.0) / count) if count > 0 else 1.0
