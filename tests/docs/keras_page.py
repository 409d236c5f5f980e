"""Generate docs/keras.md from the cases of layers: python -m tests.docs.keras_page"""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.docs.pages import ROOT
from tests.docs.wrapping import wrap
from tests.frontends.keras.layer_cases import LAYER_CASES, NOT_CONVERTED, PARTS, REFUSED, LayerCase
from tests.frontends.keras.text_cases import TEXTS

PAGE = ROOT / "docs" / "keras.md"
HEAD = """# Keras layers

Every public layer of Keras 3, generated from the test cases
(`python -m tests.docs.keras_page`). Each layer is built in Keras and compared with it, on wasm and
js, with the listed options; other options have Keras's defaults. Other values of the same options
work as well. [Refused](#refused) lists what does not.

Files of Keras 1 and 2, and layers that Keras 3 removed: [keras-versions.md](keras-versions.md).

Other layers, yours or Keras's, are traced if their `call` uses `keras.ops`. For any other layer,
write a handler: [tutorial-custom-layer.md](tutorial-custom-layer.md).
"""
EXPLAINED = """
`data_format` works for both values in all layers, whatever TensorFlow supports. Where backends of
Keras differ, results are those of TensorFlow: the padding of transposed convolutions, and bicubic
interpolation, whose weights TensorFlow reads from a table of 1,024 positions.

## Dtypes

A layer casts floating inputs to the compute dtype of its policy, as Keras does (`autocast`).
Integers and bools are computed as such if Keras's `call` does so, and otherwise promoted to the
compute dtype or, by `Activation`, `LeakyReLU` and the global average poolings, to float32 under
every policy. Outputs have the dtype that Keras declares. Every case below is tested with inputs of
uint8, int32, int64, bool, float16, float32 and float64 under each policy, from memory, `.keras` and
`.h5` (`python -m tests.frontends.keras.dtype_cross`), and every operation of `keras.ops` with ten
dtypes and special values (`python -m tests.frontends.keras.operation_cross`).

Layers that `model.quantize` has changed to `int8`, `int4`, `gptq` (2, 3, 4 and 8 bits) or `awq` are
converted in memory, as in Keras; a bundle contains their integers, packed as in Keras. Build models
after `quantize("gptq")` and `quantize("awq")` from a function (`webkiln build
package.module:function`): Keras 3.15 does not save their zero points, so that neither it nor
webkiln can load the file.

| policy | computed in | bound of the difference, relative to the largest output of a layer |
|---|---|---|
| `float32`, `float64` | the same | 2e-5 |
| `float16` | float16, rounded after each operator | 2e-2 |
| `mixed_float16` | float32; Keras rounds to float16 at every operation | 2e-2 |
| `bfloat16`, `mixed_bfloat16` | float32, also inputs and outputs; \
Keras rounds to bfloat16 at every operation | 1e-1 |

The bounds apply to inputs around 1, integers up to 9 and bytes, with which every layer is tested.
They do not hold where Keras's float16 loses significant digits: a value outside its range becomes
an infinity in Keras (the sum of squares in a `UnitNormalization` of numbers in the hundreds), but
is computed in float32 here under `mixed_float16`; and numbers in the hundreds before a `softmax`, a
`sigmoid` or an activation that selects a small interval are rounded in Keras. `GroupNormalization`,
`LayerNormalization` and `SpectralNormalization` of integers, which Keras casts back to integers,
may differ by 1 where the float is within its rounding of an integer. Files store the dtype of
weights instead of the policy for `SpatialDropout1D`, `2D` and `3D`, which therefore have that
dtype, as when Keras loads the file.

## Masks

A mask reaches every layer that Keras passes it to: through Functional and Sequential models, nested
models and custom layers, also if it is computed inside of these. `MultiHeadAttention` reads the
mask of its query, whatever `query_mask` is, and removes the masks of its inputs, so later layers do
not see them, as in Keras. A custom layer is refused if it reads a mask, or passes its input to a
layer that reads masks, and that mask is computed inside another custom layer.

## Inference

Random augmentation does not change images, as in Keras with `training=False`. `AutoContrast`,
`CenterCrop`, `Resizing` and contrast-limited equalisation do. They accept images only, not dicts of
images and boxes. Contrast-limited equalisation of bytes is rounded down to integers at its end, and
may differ by 1 where the float is within its rounding of an integer. Numbers are hashed with
FarmHash and SipHash of their decimal text as in TensorFlow, into at most 16,777,216 buckets, on
every backend. An `IntegerLookup` with `num_oov_indices=0` returns -1 for an unknown number, where
Keras raises an error.

Text layers run in JavaScript before the model: [texts.md](texts.md).

Low-rank adapters (`enable_lora`) are added to the weights that they adapt.

Where TensorFlow's result depends on the processor or on the length of the array, webkiln defines
it: floats outside the range of an integer become its nearest value when cast, and NaN becomes 0.
`argmax` and `argmin` treat -0.0 and 0.0 as equal. Matrix products of int32 and int64 are exact
modulo 2^32 and 2^64, where Keras computes them in float32.

## Operations with several correct results

Factorisations (`keras.ops.linalg`, `logdet`, matrix norms from singular values,
`perspective_transform`) run on the CPU on every backend, for matrices of up to 1,024 rows and
columns. `qr` has LAPACK's signs. Eigenvectors and singular vectors are unique up to their signs:
`eigh` has those of TensorFlow's library, and so has `svd` for square matrices below 16 rows; for
others, `u` and `v` may both be negated. Where Keras raises an error at run time, a bundle returns
numbers: NaN for `cholesky` and `logdet` of a matrix that is not positive definite, infinities or
NaN for `solve` and `inv` of singular matrices, NaN for `sparse_categorical_crossentropy` of a
target that is no class; segments out of range are ignored. `top_k(sorted=False)` returns its
elements in order, where TensorFlow does not. `ctc_loss` of a target that no path reaches is
infinite, where TensorFlow returns a number above 700. Sparse results of `one_hot` and `multi_hot`
are dense. Complex numbers are pairs of real ones, as `fft`, `rfft` and `stft` accept and return
them. `view_as_complex`, `polar` and `eig` are refused, as are `ctc_decode` with beam search,
segments without `num_segments` (except `segment_sum`), `jvp` and `elastic_transform`.
"""


def spelled(value: Any) -> str:
    """A value in Python syntax; a layer by its class."""
    if isinstance(value, list):
        return f"[{', '.join(map(spelled, value))}]"
    return (
        repr(value)
        if value is None or isinstance(value, str | int | float | tuple)
        else type(value).__name__
    )


def options(cases: Iterable[LayerCase]) -> str:
    """Every option with its tested values."""
    values: dict[str, dict[str, None]] = {}
    for tried in cases:
        arguments = {**tried.options, **tried.call} | (
            {"dtype of the input": tried.dtype} if tried.dtype != "float32" else {}
        )
        for name, value in arguments.items():
            values.setdefault(name, {})[spelled(value)] = None
    return (
        "; ".join(f"`{name}` {', '.join(tested)}" for name, tested in values.items())
        or "those by default"
    )


def ranks(cases: Iterable[LayerCase]) -> str:
    """The ranks of the inputs, with the batch."""
    return ", ".join(
        map(str, sorted({len(shape) + 1 for tried in cases for shape in tried.shapes}))
    )


def section(title: str, rows: Mapping[str, tuple[LayerCase, ...]]) -> str:
    lines = [f"| `{name}` | {ranks(cases)} | {options(cases)} |" for name, cases in rows.items()]
    return "\n".join(
        [f"\n## {title}\n", "| layer | ranks | options |", "|---|---|---|", *lines, ""]
    )


def page() -> str:
    return wrap(_text())


def _text() -> str:
    reasons: dict[str, list[str]] = {}
    for name, reason in NOT_CONVERTED.items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    parts = (
        f"\n{', '.join(f'`{name}`' for name in sorted(PARTS))} are tested as parts of other"
        " layers.\n"
    )
    refused = [f"| {case.what} | {case.message} |" for case in REFUSED]
    absent = [f"| {', '.join(names)} | {reason} |" for reason, names in reasons.items()]
    return "".join([
        HEAD,
        EXPLAINED,
        *(section(title, rows) for title, rows in (*LAYER_CASES.items(), ("Texts", TEXTS))),
        parts,
        "\n".join(["\n## Refused\n", "| what | message |", "|---|---|", *refused, ""]),
        "\n".join(["\n## Not converted\n", "| layers | why |", "|---|---|", *absent, ""]),
    ])  # fmt: skip


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
