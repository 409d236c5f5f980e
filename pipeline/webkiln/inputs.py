"""Made-up inputs of models: what frameworks are asked for their outputs with, and bundles are
verified on.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from webkiln.errors import VerificationError
from webkiln.ir.types import Array

DISTRIBUTIONS = {
    "normal": ("mean", "stddev"),
    "truncated_normal": ("mean", "stddev"),
    "uniform": ("minval", "maxval"),
    "randint": ("minval", "maxval"),
}
"""Functions of keras.random with the names of their parameters: `normal` cut at two deviations,
`uniform` and `randint` without maxval.
"""

CUT = 2.0


Inputs = dict[str, tuple[str, tuple[int, ...]]]
Drawn = Mapping[str, tuple[str, Mapping[str, float]]]
Words = Mapping[str, tuple[tuple[str, ...], bool]]
"""The words that a text input knows, and whether it takes other ones, too."""

ModelRun = Callable[[Mapping[str, Array]], tuple[dict[str, Array], dict[str, Array]]]
"""What a framework computes of inputs by name: the outputs, and what layers give, by name."""

STRING = "string"
STRANGE = (
    "Unheard",
    "of",
    "naïve",
    "ÉCLAIR",
    "Straße",
    "東京",
    "привет",
    "नमस्ते",
    "🙂",
    "e\u0301",
    "it's",
    "x-y",
    "(42)",
    "#1",
    "...",
)
SPACES = (" ", "  ", "\t", "\n ")

NATURAL = ("natural0", "natural1")
SCALES = (1.0, 16.0, 255.0)
LARGE = 1000.0
LEAST_DIFFERENCE = 0.01
SAMPLE_SIZE = 16


def make_inputs(
    inputs: Inputs, scale: float = 1.0, drawn: Drawn | None = None, words: Words | None = None
) -> dict[str, dict[str, Array]]:
    """Two natural sets in 0..scale and an extreme one of an input table name -> (dtype, shape), the
    same on every machine.

    Inputs that are `drawn` follow their distribution (a name, and parameters by name) in every set.
    Those of strings are made of `words`.
    """
    sets: dict[str, dict[str, Array]] = {}
    numbers = {key: item for key, item in inputs.items() if item[0] != STRING}
    for seed, name in enumerate(NATURAL):
        sets[name] = {
            key: natural(dtype, shape, 2 * index + seed, scale)
            for index, (key, (dtype, shape)) in enumerate(numbers.items())
        }
    sets["extreme"] = {key: _extreme(dtype, shape) for key, (dtype, shape) in numbers.items()}
    for seed, values in enumerate(sets.values()):
        for index, (key, (dtype, shape)) in enumerate(inputs.items()):
            if dtype == STRING:
                known, free = (words or {}).get(key, ((), True))
                values[key] = texts(known, shape, 3 * index + seed, free=free)
    for seed, values in enumerate(sets.values()):
        for index, (key, (distribution, parameters)) in enumerate((drawn or {}).items()):
            dtype, shape = inputs[key]
            values[key] = sample(distribution, parameters, shape, dtype, 3 * index + seed)
    return sets


def natural(dtype: str, shape: tuple[int, ...], seed: int, scale: float) -> Array:
    """Smooth waves along every axis with some noise, in 0..scale; small integers for integer
    inputs.
    """
    generator = np.random.default_rng(seed)
    smooth = np.zeros(shape)
    for axis, size in enumerate(shape):
        place = np.arange(size).reshape([-1 if a == axis else 1 for a in range(len(shape))])
        smooth = smooth + np.cos(
            2 * np.pi * (place * generator.uniform(0.5, 2.5) / max(size, 2) + generator.uniform())
        )
    field = smooth + 0.2 * generator.standard_normal(shape)
    span = field.max() - field.min() if field.size > 1 else 0.0
    unit = (field - field.min()) / span if span > 0 else generator.uniform(size=shape)
    if dtype == "bool":
        return np.asarray(unit > 0.5)
    return np.asarray(unit * (8 if np.dtype(dtype).kind in "iu" else scale)).astype(dtype)


def texts(known: Sequence[str], shape: tuple[int, ...], seed: int, *, free: bool) -> Array:
    """Known words, or where others may stand, too, also sentences, words of several scripts,
    capitals, and empty texts.
    """
    generator = np.random.default_rng(seed)

    def pick(words: Sequence[str]) -> str:
        return words[int(generator.integers(len(words)))]

    def made() -> str:
        if not free:
            return pick(known)
        if known and generator.random() < 0.3:
            return pick(known)
        count = int(generator.integers(0, 9))
        parts = [
            pick(known if known and generator.random() < 0.7 else STRANGE) for _ in range(count)
        ]
        changed = [part.capitalize() if generator.random() < 0.2 else part for part in parts]
        return "".join(
            part + (pick(SPACES) if generator.random() < 0.9 else ", ") for part in changed
        )

    return np.array([made() for _ in range(int(np.prod(shape)))], dtype=np.str_).reshape(shape)


def _extreme(dtype: str, shape: tuple[int, ...]) -> Array:
    """A third zeros, a third large, a third negative; of unsigned and boolean inputs zeros and
    ones.
    """
    count = int(np.prod(shape))
    if np.dtype(dtype).kind != "f":
        return (np.arange(count) % 2).reshape(shape).astype(dtype)
    values = np.array([0.0, LARGE, -LARGE])[np.arange(count) * 3 // max(count, 1)] * (
        1 + np.arange(count) % 7 / 8
    )
    return values.reshape(shape).astype(dtype)


def sample(
    distribution: str,
    parameters: Mapping[str, float],
    shape: tuple[int, ...],
    dtype: str,
    seed: int,
) -> Array:
    """Numbers of a distribution, the same on every machine."""
    generator = np.random.default_rng(seed)
    first, second = (parameters[name] for name in DISTRIBUTIONS[distribution])
    if distribution == "uniform":
        return generator.uniform(first, second, shape).astype(dtype)
    if distribution == "randint":
        return generator.integers(int(first), int(second), shape).astype(dtype)
    values = generator.standard_normal(shape)
    while distribution == "truncated_normal" and (far := np.abs(values) > CUT).any():
        values = np.where(far, generator.standard_normal(shape), values)
    return np.asarray(first + second * values).astype(dtype)


def deviation(reference: Array, other: Array) -> float:
    """The noise between two computations: max|other - reference| / max(max|reference|, 1e-6) over
    the
    elements that are finite in both, 0 where none are. It does not see NaN and infinities: whether
    a result is right is for `relative_error` of `backends/compare.py` to say.
    """
    a, b = reference.astype(np.float64), other.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not finite.any():
        return 0.0
    return float(np.abs(b[finite] - a[finite]).max() / max(np.abs(a[finite]).max(), 1e-6))


def natural_sets(
    made: Callable[[float], dict[str, dict[str, Array]]],
    run: Callable[[dict[str, Array]], dict[str, Array]],
    name: str,
    scales: Sequence[float] = SCALES,
) -> dict[str, dict[str, Array]]:
    """The sets that `made` gives for the first scale at which the outputs of the natural ones
    differ; VerificationError where they never do.
    """
    flat: list[tuple[str, float]] = []
    for scale in scales:
        sets = made(scale)
        first, second = (run(sets[name]) for name in NATURAL)
        checked = [key for key in first if first[key].dtype.kind == "f"] or list(first)
        spreads = {
            key: max(deviation(first[key], second[key]), deviation(second[key], first[key]))
            for key in checked
        }
        flat = [(key, spread) for key, spread in spreads.items() if spread < LEAST_DIFFERENCE]
        if not flat:
            return sets
    key, spread = flat[0]
    raise VerificationError(
        f"{name}: output {key} differs by {spread:.2g} of its largest value between two natural"
        f" inputs, not {LEAST_DIFFERENCE}: comparing it would verify nothing; train the model, or"
        " give it weights that are not all alike"
    )


def moved(value: Array, way: float) -> Array:
    """Floats by one unit in the last place."""
    return np.nextafter(value, value.dtype.type(way)) if value.dtype.kind == "f" else value


def reference_arrays(
    sets: Mapping[str, Mapping[str, Array]], run: ModelRun, others: Sequence[ModelRun] = ()
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """The arrays of reference.npz and of layers.npz. Noise is the difference to inputs that are
    moved
    by one unit in the last place, and to `others`, which compute the same in another way; an output
    that has another size then (what is chosen by a bound, say) tells nothing of it.
    """
    reference: dict[str, Array] = {}
    layers: dict[str, Array] = {}
    for name, values in sets.items():
        outputs, inside = run(values)
        reference |= {f"{name}/in/{key}": value for key, value in values.items()}
        reference |= {f"{name}/out/{key}": value for key, value in outputs.items()}
        layers |= {f"{name}/{key}": value for key, value in inside.items()}
        noisy = [
            run({key: moved(value, way) for key, value in values.items()})[0]
            for way in (-np.inf, np.inf)
        ]
        noisy += [other(values)[0] for other in others]
        for key, value in outputs.items():
            noise = [
                deviation(value, other[key]) for other in noisy if other[key].shape == value.shape
            ]
            reference[f"{name}/noise/{key}"] = np.array(max(noise, default=0.0))
    return reference, layers
