"""Ranges of activations of 8 bits, from samples."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from webkiln.errors import SourceError
from webkiln.ir.types import Array
from webkiln.quantize.activations import LARGEST

KEPT = 1 << 20
"""The numbers of an activation, of all samples, from which its range is found."""
LEAST_KEPT = 1 << 10
"""The least of these from each sample."""
TAIL = 0.01
"""The percentage of numbers beyond each end of a range, by `percentile`."""
SHARES = tuple(np.arange(100, 19, -2) / 100)
"""The shares of the whole range of which `mse` chooses one."""
BINS = 2048


@dataclass(slots=True)
class Observed:
    """What has been seen of one activation: the ends of its range, and some of its numbers, evenly
    spaced; sums along all axes but one, by which means are computed.
    """

    low: float = 0.0
    high: float = 0.0
    parts: list[Array] = field(default_factory=list)
    sums: Array | None = None
    count: int = 0

    def add(self, value: Array, channel_axis: int, samples: int) -> None:
        """Add the value in one of `samples` runs. Raise SourceError if it is not finite."""
        if not np.isfinite(value).all():
            raise SourceError("the samples make it infinite or NaN")
        if not value.size:
            return
        self.low, self.high = min(self.low, float(value.min())), max(self.high, float(value.max()))
        wanted = max(KEPT // samples, LEAST_KEPT)
        self.parts.append(value.ravel()[:: max(value.size // wanted, 1)].astype(np.float32))
        others = tuple(axis for axis in range(value.ndim) if axis != channel_axis % value.ndim)
        sums = value.sum(others, dtype=np.float64)
        self.sums = sums if self.sums is None else self.sums + sums
        self.count += value.size // max(len(sums), 1)

    @property
    def means(self) -> Array:
        """The mean of each channel."""
        assert self.sums is not None
        return np.asarray(self.sums / max(self.count, 1), np.float32)

    def numbers(self) -> Array:
        return np.concatenate(self.parts)


@dataclass(frozen=True, slots=True)
class Rounding:
    """x is about (code - zero) * scale. Both ends of the range are multiples of the scale, and 0 is
    in it.
    """

    scale: float
    zero: int

    def applied(self, values: Array) -> Array:
        codes = np.clip(np.rint(values / self.scale) + self.zero, 0, LARGEST)
        return np.asarray((codes - self.zero) * self.scale)


def rounding(low: float, high: float) -> Rounding:
    """The rounding of numbers from `low` to `high`."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32((high - low) / LARGEST))
    if scale == 0:
        return Rounding(1.0, 0)
    return Rounding(scale, int(np.clip(np.rint(-low / scale), 0, LARGEST)))


def _minmax(seen: Observed) -> Rounding:
    return rounding(seen.low, seen.high)


def _percentile(seen: Observed) -> Rounding:
    low, high = np.percentile(seen.numbers(), [TAIL, 100 - TAIL])
    return rounding(float(low), float(high))


def _least_square_error(seen: Observed) -> Rounding:
    """The range with the least square error of a histogram: both ends shrink by one share, or only
    the upper one.
    """
    heights, edges = np.histogram(
        seen.numbers(), BINS, (seen.low, max(seen.high, seen.low + 1e-30))
    )
    middles = (edges[1:] + edges[:-1]) / 2
    filled = heights > 0
    heights, middles = heights[filled], middles[filled]

    def error(found: Rounding) -> float:
        # A number within a step has an error of up to half of it, wherever its bin is.
        inside = found.scale**2 / 12
        low, high = -found.zero * found.scale, (LARGEST - found.zero) * found.scale
        beyond = np.maximum(np.maximum(low - middles, middles - high), 0)
        return float(heights @ (np.square(beyond) + inside))

    ends = [(seen.low * share, seen.high * share) for share in SHARES]
    ends += [(seen.low, seen.high * share) for share in SHARES]
    return min((rounding(*pair) for pair in ends), key=error)


METHODS: Mapping[str, Callable[[Observed], Rounding]] = {
    "mse": _least_square_error,
    "minmax": _minmax,
    "percentile": _percentile,
}
"""As in the table `[quantize]` of recipes."""
