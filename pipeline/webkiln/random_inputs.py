"""Random inputs for models. Frameworks compute reference outputs for them, which the outputs of
bundles are compared with.
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
"""Distribution -> the names of its parameters, as functions of keras.random. `truncated_normal` is
truncated at two standard deviations; `uniform` and `randint` exclude maxval.
"""

TRUNCATION = 2.0


Inputs = dict[str, tuple[str, tuple[int, ...]]]
"""Name -> (dtype, shape)."""
Distributions = Mapping[str, tuple[str, Mapping[str, float]]]
"""Name of an input -> (distribution, parameters)."""
Vocabularies = Mapping[str, tuple[tuple[str, ...], bool]]
"""Name of a string input -> (its vocabulary, whether it accepts words outside of it)."""

ModelRun = Callable[[Mapping[str, Array]], tuple[dict[str, Array], dict[str, Array]]]
"""A framework's evaluation of a model: inputs by name -> (outputs, outputs of layers) by name."""

STRING = "string"
UNUSUAL_WORDS = (
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
MIN_DIFFERENCE = 0.01
"""The minimum relative difference of the outputs for the two natural sets."""
SAMPLE_SIZE = 16
"""The default value of symbolic sizes."""


def make_inputs(
    inputs: Inputs,
    scale: float = 1.0,
    distributions: Distributions | None = None,
    vocabularies: Vocabularies | None = None,
) -> dict[str, dict[str, Array]]:
    """Create two sets of natural inputs, in 0..scale, and one of extreme inputs.

    The sets are the same on every machine. Inputs in `distributions` follow their distribution in
    every set. String inputs are built from `vocabularies`.
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
                vocabulary, is_open = (vocabularies or {}).get(key, ((), True))
                values[key] = random_strings(vocabulary, shape, 3 * index + seed, is_open=is_open)
    for seed, values in enumerate(sets.values()):
        for index, (key, (distribution, parameters)) in enumerate((distributions or {}).items()):
            dtype, shape = inputs[key]
            values[key] = sample(distribution, parameters, shape, dtype, 3 * index + seed)
    return sets


def natural(dtype: str, shape: tuple[int, ...], seed: int, scale: float) -> Array:
    """Smooth waves along every axis plus noise, in 0..scale; integers are in 0..8."""
    generator = np.random.default_rng(seed)
    smooth = np.zeros(shape)
    for axis, size in enumerate(shape):
        index = np.arange(size).reshape([-1 if a == axis else 1 for a in range(len(shape))])
        smooth = smooth + np.cos(
            2 * np.pi * (index * generator.uniform(0.5, 2.5) / max(size, 2) + generator.uniform())
        )
    field = smooth + 0.2 * generator.standard_normal(shape)
    span = field.max() - field.min() if field.size > 1 else 0.0
    unit = (field - field.min()) / span if span > 0 else generator.uniform(size=shape)
    if dtype == "bool":
        return np.asarray(unit > 0.5)
    return np.asarray(unit * (8 if np.dtype(dtype).kind in "iu" else scale)).astype(dtype)


def random_strings(
    vocabulary: Sequence[str], shape: tuple[int, ...], seed: int, *, is_open: bool
) -> Array:
    """Random words of a vocabulary. If it is open, also sentences, words in several scripts,
    capitals and empty strings.
    """
    generator = np.random.default_rng(seed)

    def pick(words: Sequence[str]) -> str:
        return words[int(generator.integers(len(words)))]

    def random_string() -> str:
        if not is_open:
            return pick(vocabulary)
        if vocabulary and generator.random() < 0.3:
            return pick(vocabulary)
        count = int(generator.integers(0, 9))
        words = [
            pick(vocabulary if vocabulary and generator.random() < 0.7 else UNUSUAL_WORDS)
            for _ in range(count)
        ]
        words = [word.capitalize() if generator.random() < 0.2 else word for word in words]
        return "".join(
            word + (pick(SPACES) if generator.random() < 0.9 else ", ") for word in words
        )

    count = int(np.prod(shape))
    return np.array([random_string() for _ in range(count)], dtype=np.str_).reshape(shape)


def _extreme(dtype: str, shape: tuple[int, ...]) -> Array:
    """Zeros, then large, then large negative values, a third each; alternating zeros and ones for
    dtypes other than floats.
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
    """Draw an array from one of `DISTRIBUTIONS`; the same on every machine."""
    generator = np.random.default_rng(seed)
    first, second = (parameters[name] for name in DISTRIBUTIONS[distribution])
    if distribution == "uniform":
        return generator.uniform(first, second, shape).astype(dtype)
    if distribution == "randint":
        return generator.integers(int(first), int(second), shape).astype(dtype)
    values = generator.standard_normal(shape)
    while distribution == "truncated_normal" and (far := np.abs(values) > TRUNCATION).any():
        values = np.where(far, generator.standard_normal(shape), values)
    return np.asarray(first + second * values).astype(dtype)


def deviation(reference: Array, other: Array) -> float:
    """The noise between two computations: max|other - reference| / max(max|reference|, 1e-6).

    Elements that are not finite in both are ignored; without finite elements, the result is 0. To
    judge correctness, use `relative_error` of `backends/compare.py`.
    """
    a, b = reference.astype(np.float64), other.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not finite.any():
        return 0.0
    return float(np.abs(b[finite] - a[finite]).max() / max(np.abs(a[finite]).max(), 1e-6))


def distinguishing_inputs(
    make: Callable[[float], dict[str, dict[str, Array]]],
    run: Callable[[dict[str, Array]], dict[str, Array]],
    name: str,
    scales: Sequence[float] = SCALES,
) -> dict[str, dict[str, Array]]:
    """The inputs of `make(scale)` for the first scale at which the outputs for the two natural sets
    differ. Raises VerificationError if there is none.
    """
    flat: list[tuple[str, float]] = []
    for scale in scales:
        sets = make(scale)
        first, second = (run(sets[name]) for name in NATURAL)
        checked = [key for key in first if first[key].dtype.kind == "f"] or list(first)
        spreads = {
            key: max(deviation(first[key], second[key]), deviation(second[key], first[key]))
            for key in checked
        }
        flat = [(key, spread) for key, spread in spreads.items() if spread < MIN_DIFFERENCE]
        if not flat:
            return sets
    key, spread = flat[0]
    raise VerificationError(
        f"{name}: output {key} differs by {spread:.2g} of its largest value between two natural"
        f" inputs, expected at least {MIN_DIFFERENCE}; comparing such outputs would verify nothing."
        " Train the model, or set weights that are not all equal"
    )


def nudge(value: Array, direction: float) -> Array:
    """Move floats by one unit in the last place towards `direction`."""
    return np.nextafter(value, value.dtype.type(direction)) if value.dtype.kind == "f" else value


def reference_arrays(
    sets: Mapping[str, Mapping[str, Array]], run: ModelRun, others: Sequence[ModelRun] = ()
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """The arrays of reference.npz and of layers.npz.

    The noise of an output is its largest deviation for inputs moved by one unit in the last place,
    and for `others`, equivalent computations in another order. Results of another shape, such as
    those selected by a threshold, are ignored.
    """
    reference: dict[str, Array] = {}
    layers: dict[str, Array] = {}
    for name, values in sets.items():
        outputs, layer_outputs = run(values)
        reference |= {f"{name}/in/{key}": value for key, value in values.items()}
        reference |= {f"{name}/out/{key}": value for key, value in outputs.items()}
        layers |= {f"{name}/{key}": value for key, value in layer_outputs.items()}
        noisy = [
            run({key: nudge(value, direction) for key, value in values.items()})[0]
            for direction in (-np.inf, np.inf)
        ]
        noisy += [other(values)[0] for other in others]
        for key, value in outputs.items():
            noise = [
                deviation(value, other[key]) for other in noisy if other[key].shape == value.shape
            ]
            reference[f"{name}/noise/{key}"] = np.array(max(noise, default=0.0))
    return reference, layers
