"""Fourier transforms and complex numbers, which have a last axis of real and imaginary part.
Bundles do not return complex numbers.
"""

from math import sqrt

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.frontends.torch.operators.elementwise import angle_of
from webkiln.frontends.torch.operators.windows import PAD_MODES, pad_of, padded_from
from webkiln.ir.dim import Size, is_symbolic, known
from webkiln.ir.types import is_float, itemsize
from webkiln.ops.builder import Tensor
from webkiln.ops.fourier import transformed
from webkiln.ops.pieces import cast, element, filled, reshaped, stacked, transposed


def parts(c: AtenCall, x: Tensor) -> tuple[Tensor, Tensor]:
    return element(c.b, x, x.type.rank - 1, 0), element(c.b, x, x.type.rank - 1, 1)


def joined(c: AtenCall, real: Tensor, imaginary: Tensor | None) -> Tensor:
    return stacked(
        c.b,
        [real, filled(c.b, 0, real.dtype, real.shape) if imaginary is None else imaginary],
        real.type.rank,
    )


def scaled(c: AtenCall, x: Tensor, count: Size, mode: int, *, inverse: bool) -> Tensor:
    """Normalization 0 is none, 1 divides by the root of the size, 2 by the size. The inverse
    transform already divides by the size.
    """
    if mode == (2 if inverse else 0) or (inverse and count == 1):
        return x
    if mode == 1:
        root = sqrt(known(count, "the size of the transform"))
        return x * root if inverse else x * (1 / root)
    if inverse:
        return x * count
    return x / count if is_symbolic(count) else x * (1 / count)


def at_end(c: AtenCall, x: Tensor, axis: int) -> tuple[Tensor, list[int]]:
    """Move the axis to the end; returns a function that moves it back."""
    perm = [*(d for d in range(x.type.rank) if d != axis), axis]
    return transposed(c.b, x, perm), [perm.index(d) for d in range(x.type.rank)]


def along(
    c: AtenCall,
    real: Tensor,
    imaginary: Tensor | None,
    axis: int,
    length: Size,
    *,
    inverse: bool,
    onesided: bool,
) -> tuple[Tensor, Tensor | None]:
    moved, back = at_end(c, real, axis)
    other = None if imaginary is None else at_end(c, imaginary, axis)[0]
    a, b = transformed(c.b, (moved, other), length, inverse=inverse, onesided=onesided)
    return transposed(c.b, a, back), None if b is None else transposed(c.b, b, back)


def from_real(c: AtenCall) -> Tensor:
    x = c.tensor()
    axes = [c.axis(axis, x.type.rank) for axis in c.integers("dim")]
    last = axes[-1]
    real, imaginary = along(
        c, x, None, last, x.shape[last], inverse=False, onesided=bool(c["onesided"])
    )
    count = x.shape[last]
    for axis in axes[:-1]:
        real, imaginary = along(
            c, real, imaginary, axis, x.shape[axis], inverse=False, onesided=False
        )
        count *= x.shape[axis]
    assert imaginary is not None
    return scaled(c, joined(c, real, imaginary), count, c.number("normalization"), inverse=False)


def to_real(c: AtenCall) -> Tensor:
    real, imaginary = parts(c, c.tensor())
    axes, length = (
        [c.axis(axis, real.type.rank) for axis in c.integers("dim")],
        c.number("last_dim_size"),
    )
    count = length
    rest: Tensor | None = imaginary
    for axis in axes[:-1]:
        count *= real.shape[axis]
        real, rest = along(c, real, rest, axis, real.shape[axis], inverse=True, onesided=False)
    real, _ = along(c, real, rest, axes[-1], length, inverse=True, onesided=True)
    return scaled(c, real, count, c.number("normalization"), inverse=True)


def to_complex(c: AtenCall) -> Tensor:
    real, rest = parts(c, c.tensor())
    imaginary: Tensor | None = rest
    count: Size = 1
    inverse = not c["forward"]
    for axis in [c.axis(axis, real.type.rank) for axis in c.integers("dim")]:
        count *= real.shape[axis]
        real, imaginary = along(
            c, real, imaginary, axis, real.shape[axis], inverse=inverse, onesided=False
        )
    return scaled(c, joined(c, real, imaginary), count, c.number("normalization"), inverse=inverse)


def magnitude(c: AtenCall) -> Tensor:
    real, imaginary = parts(c, c.tensor())
    return c.op("Sqrt", real * real + imaginary * imaginary)


def angle(c: AtenCall) -> Tensor:
    real, imaginary = parts(c, c.tensor())
    return angle_of(c.b, imaginary, real)


def both(c: AtenCall, name: str) -> tuple[Tensor, Tensor]:
    """An argument as its parts. A real one has no imaginary part."""
    x, items = c[name], [c[item] for item in ("self", "other")]
    dtypes = [item.dtype for item in items if isinstance(item, Tensor) and is_float(item.dtype)]
    dtype = max(dtypes, key=itemsize, default="float32")
    if isinstance(x, tuple):
        return c.scalar(x[0], dtype), c.scalar(x[1], dtype)
    if name in c.call.attr("complex"):
        a, b = parts(c, c.tensor(name))
        return c.cast(a, dtype), c.cast(b, dtype)
    real = c.cast(x, dtype) if isinstance(x, Tensor) else c.scalar(x, dtype)
    return real, filled(c.b, 0, dtype, real.shape)


def product(c: AtenCall) -> Tensor:
    (a, b), (x, y) = both(c, "self"), both(c, "other")
    if len(c.call.attr("complex")) == 1:
        real = a if c.call.attr("complex") == ("other",) else x
        return joined(c, *(c.op("Mul", item, real) for item in ((x, y) if real is a else (a, b))))
    return joined(c, c.op("Mul", a, x) - c.op("Mul", b, y), c.op("Mul", a, y) + c.op("Mul", b, x))


def quotient(c: AtenCall) -> Tensor:
    """Division by real numbers."""
    if c.call.attr("complex") != ("self",):
        raise c.unsupported(
            "divides by complex numbers",
            "Multiply by the conjugate, and divide by the square of the magnitude",
        )
    (a, b), (x, _) = both(c, "self"), both(c, "other")
    return joined(c, c.op("Div", a, x), c.op("Div", b, x))


def termwise(op: str) -> AtenHandler:
    def handler(c: AtenCall) -> Tensor:
        (a, b), (x, y) = both(c, "self"), both(c, "other")
        real, imaginary = c.op(op, a, x), c.op(op, b, y)
        return joined(c, real, imaginary)

    return handler


def conjugate(c: AtenCall) -> Tensor:
    real, imaginary = parts(c, c.tensor())
    return joined(c, real, -imaginary)


def complex_(c: AtenCall) -> Tensor:
    return joined(c, c.tensor("real"), c.tensor("imag"))


def moved(c: AtenCall) -> Tensor:
    """Reshape, and keep the parts last."""
    x = c.tensor()
    shape = c.sizes("size" if c.has("size") else "shape")
    return reshaped(c.b, x, (*shape, 2)) if all(size != -1 for size in shape) else _refused(c)


def _refused(c: AtenCall) -> Tensor:
    raise c.unsupported(
        "reshapes complex numbers to a symbolic size", "Use the real and imaginary parts instead"
    )


def constant_padded(c: AtenCall) -> Tensor:
    """A value pads the real part."""
    real, imaginary = parts(c, c.tensor())
    value = c.get("value", 0)
    values = value if isinstance(value, tuple) else (value, 0)
    return joined(c, pad_of(c, real, values[0]), pad_of(c, imaginary, values[1]))


def padded_with(mode: str) -> AtenHandler:
    return lambda c: joined(c, *(padded_from(c, x, mode) for x in parts(c, c.tensor())))


def unsqueezed(c: AtenCall) -> Tensor:
    x = c.tensor()
    axis = c.axis(c.number("dim"), x.type.rank)
    return reshaped(c.b, x, (*x.shape[:axis], 1, *x.shape[axis:]))


def squeezed(c: AtenCall) -> Tensor:
    x = c.tensor()
    axes = {c.axis(axis, x.type.rank - 1) for axis in c.integers("dim")}
    return reshaped(c.b, x, [size for d, size in enumerate(x.shape) if d not in axes])


def permuted(c: AtenCall) -> Tensor:
    x = c.tensor()
    rank = x.type.rank - 1
    if c.has("dims"):
        perm = [c.axis(axis, rank) for axis in c.integers("dims")]
    else:
        perm = list(range(rank))
        a, b = c.axis(c.number("dim0"), rank), c.axis(c.number("dim1"), rank)
        perm[a], perm[b] = perm[b], perm[a]
    return transposed(c.b, x, [*perm, rank])


def real_cast(c: AtenCall) -> Tensor:
    return cast(c.b, parts(c, c.tensor())[0], c.dtype("float32"))


FOURIER: dict[str, AtenHandler] = {
    "_fft_r2c": from_real,
    "complex": complex_,
    "view_as_complex": lambda c: c.op("Identity", c.tensor()),
}
"""Operators that create complex numbers from real ones."""
COMPLEX: dict[str, AtenHandler] = {
    "neg": lambda c: c.op("Neg", c.tensor()),
    "constant_pad_nd": constant_padded,
    "pad": constant_padded,
    **{name: padded_with(mode) for name, mode in PAD_MODES.items()},
    "_fft_c2r": to_real,
    "_fft_c2c": to_complex,
    "abs": magnitude,
    "angle": angle,
    "mul": product,
    "conj": conjugate,
    "_conj": conjugate,
    "conj_physical": conjugate,
    "_conj_physical": conjugate,
    "real": lambda c: parts(c, c.tensor())[0],
    "imag": lambda c: parts(c, c.tensor())[1],
    "view": moved,
    "reshape": moved,
    "add": termwise("Add"),
    "sub": termwise("Sub"),
    "div": quotient,
    "unsqueeze": unsqueezed,
    "squeeze": squeezed,
    "permute": permuted,
    "transpose": permuted,
    **dict.fromkeys(
        (
            "view_as_real",
            "view_as_real_copy",
            "clone",
            "alias",
            "resolve_conj",
            "detach",
            "contiguous",
        ),
        lambda c: c.op("Identity", c.tensor()),
    ),
}
"""Operators on complex numbers."""
