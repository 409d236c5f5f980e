"""Writes docs/keras.md from the table of layer cases: python -m tests.docs.keras_page"""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.docs.pages import ROOT
from tests.frontends.keras.layer_cases import NOT_CONVERTED, PARTS, REFUSED, TRIED, Tried
from tests.frontends.keras.text_cases import TEXTS

PAGE = ROOT / "docs" / "keras.md"
HEAD = """# Keras layers

Every public layer of Keras 3, and what becomes of it. The page is written from the table of the tests (`python -m tests.docs.keras_page`): what stands here is built in Keras and compared
with it, on wasm and js, with the options named; options that are not named have Keras's defaults. Other values of the same options work as well; what does not is said under
[Refused](#refused).

Files of Keras 1 and 2, and layers that Keras 3 has not: [keras-versions.md](keras-versions.md).

A layer that is not here, yours or Keras's, is traced where its `call` is written with `keras.ops`; for any other write a handler: [tutorial-custom-layer.md](tutorial-custom-layer.md).
"""
EXPLAINED = """
`data_format` works for both values in all of them, whatever TensorFlow has kernels for. Results are those of Keras on TensorFlow where backends differ: the padding of transposed convolutions,
and bicubic interpolation, whose weights TensorFlow looks up in a table of 1024 positions.

## Dtypes

A layer casts floating inputs to the compute dtype of its policy, as Keras does (`autocast`); integers and bools are computed in where Keras's `call` computes in them, and else promoted to
floats: to the compute dtype, or, by `Activation`, `LeakyReLU` and the global average poolings, to float32 under every policy. Outputs have the dtype that Keras declares. Every case below is tried
with inputs of uint8, int32, int64, bool, float16, float32 and float64 under each policy, from memory, `.keras` and `.h5` (`python -m tests.frontends.keras.dtype_cross`), and every operation of
`keras.ops` with ten dtypes and special values (`python -m tests.frontends.keras.operation_cross`).

| policy | computed in | bound of the difference, relative to the largest output of a layer |
|---|---|---|
| `float32`, `float64` | the same | 2e-5 |
| `float16` | float16, rounded after each operator | 2e-2 |
| `mixed_float16` | float32; Keras rounds to float16 at every operation | 2e-2 |
| `bfloat16`, `mixed_bfloat16` | float32, also inputs and outputs; Keras rounds to bfloat16 at every operation | 1e-1 |

The bounds are for numbers around 1, integers up to 9 and bytes, with which every layer is tried. They do not hold where Keras's halves have lost the digits that matter: what leaves the range of
float16 becomes an infinity in Keras (the squared sum of a `UnitNormalization` of numbers in the hundreds), but is computed in float32 here under `mixed_float16`; and what is in the hundreds before
a `softmax`, a `sigmoid` or an activation that cuts out a small piece has been rounded in Keras. `GroupNormalization`, `LayerNormalization` and `SpectralNormalization` of integers, which Keras casts
back to integers, may differ by 1 where the float is within its rounding of an integer. A file holds for `SpatialDropout1D`, `2D` and `3D` the dtype of their weights in place of their policy: they
have that dtype here as in Keras when it loads the file.

## Masks

A mask reaches every layer that Keras's own run hands it to: through Functional and Sequential models, models inside models, and layers of yours, also where it is made inside of these.
`MultiHeadAttention` reads the mask that its query carries, whatever `query_mask` says, and takes away what its inputs carry, so that layers which run later do not see these masks: as in Keras. A
layer of yours is refused where it reads masks, or hands its input to a layer that reads masks, and the mask of that input is made inside another layer of yours.

## At inference

Random augmentation leaves images as they are, as Keras does for `training=False`; `AutoContrast`, `CenterCrop`, `Resizing` and contrast-limited equalisation act. A model calls them with images alone,
not with a dict of images and boxes. Contrast-limited equalisation of bytes is cut to whole numbers at its end, and may differ by 1 where the float is within its rounding of one.
Numbers are hashed by FarmHash and SipHash of their decimal text as TensorFlow does, into at most 16777216 buckets, on every backend. An `IntegerLookup` with `num_oov_indices=0`, for which
Keras raises an error on a number that is not in its vocabulary, gives -1 for it.

Layers that take texts compute them before the model runs, in JavaScript: [texts.md](texts.md) says how, and what is refused.

Low-rank adapters (`enable_lora`) are added to the weights that they adapt.

Where TensorFlow's own result depends on the processor or on the length of the array, webkiln's is this: floats out of the range of the integer that they are cast to become its nearest
value, NaN becomes 0. `argmax` and `argmin` take -0.0 and 0.0 as equal; matrix products of int32 and int64 are exact modulo 2^32 and 2^64, where Keras computes them in float32.

## Operations whose results leave room

Factorisations (`keras.ops.linalg`, `logdet`, matrix norms by singular values, `perspective_transform`) run on the CPU on every backend, for matrices of up to 1024 rows and columns. `qr` has
LAPACK's signs. Eigenvectors and singular vectors are unique up to their signs alone: those of `eigh` follow the steps of TensorFlow's library, and so do those of `svd` for square matrices below 16
rows; for others they may be turned round, `u` and `v` together. Where Keras raises an error when it runs, a bundle gives numbers: `cholesky` and `logdet` of what is not positive definite NaN, `solve`
and `inv` of singular matrices infinities or NaN, `sparse_categorical_crossentropy` NaN for a target that is no class; segments out of range are left out.
`top_k(sorted=False)` gives its elements in order all the same, where TensorFlow gives them as they come. `ctc_loss` of a target that no path reaches is infinite, where TensorFlow gives a number above
700. Sparse results of `one_hot` and `multi_hot` are dense. Complex numbers are pairs of real ones, as `fft`, `rfft` and `stft` take and give them; `view_as_complex`, `polar` and `eig` are refused, as are
`ctc_decode` by beams, segments without `num_segments` (but for `segment_sum`), `jvp` and `elastic_transform`.
"""


def spelled(value: Any) -> str:
    """A value as one writes it in Python; a layer by its class."""
    if isinstance(value, list):
        return f"[{', '.join(map(spelled, value))}]"
    return (
        repr(value)
        if value is None or isinstance(value, str | int | float | tuple)
        else type(value).__name__
    )


def options(cases: Iterable[Tried]) -> str:
    """Every option with the values that it was tried with."""
    values: dict[str, dict[str, None]] = {}
    for tried in cases:
        given = {**tried.options, **tried.call} | (
            {"dtype of the input": tried.dtype} if tried.dtype != "float32" else {}
        )
        for name, value in given.items():
            values.setdefault(name, {})[spelled(value)] = None
    return (
        "; ".join(f"`{name}` {', '.join(found)}" for name, found in values.items())
        or "those by default"
    )


def ranks(cases: Iterable[Tried]) -> str:
    """The ranks of the inputs, with the batch."""
    return ", ".join(
        map(str, sorted({len(shape) + 1 for tried in cases for shape in tried.shapes}))
    )


def section(title: str, rows: Mapping[str, tuple[Tried, ...]]) -> str:
    lines = [f"| `{name}` | {ranks(cases)} | {options(cases)} |" for name, cases in rows.items()]
    return "\n".join(
        [f"\n## {title}\n", "| layer | ranks | options |", "|---|---|---|", *lines, ""]
    )


def page() -> str:
    reasons: dict[str, list[str]] = {}
    for name, reason in NOT_CONVERTED.items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    parts = (
        f"\n{', '.join(f'`{name}`' for name in sorted(PARTS))} are tried as parts of other"
        " layers.\n"
    )
    refused = [f"| {case.what} | {case.message} |" for case in REFUSED]
    absent = [f"| {', '.join(names)} | {reason} |" for reason, names in reasons.items()]
    return "".join([
        HEAD,
        EXPLAINED,
        *(section(title, rows) for title, rows in (*TRIED.items(), ("Texts", TEXTS))),
        parts,
        "\n".join(["\n## Refused\n", "| what | message |", "|---|---|", *refused, ""]),
        "\n".join(["\n## Not converted\n", "| layers | why |", "|---|---|", *absent, ""]),
    ])  # fmt: skip


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
