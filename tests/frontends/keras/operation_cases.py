"""Test cases of keras.ops.numpy and keras.ops.core by class: functions of two tensors float32[2, 3,
4].
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from keras import ops


def integers(x: Any, scale: float = 5) -> Any:
    return ops.cast(x * scale, "int32")


def inside(x: Any) -> Any:
    """Between -1 and 1."""
    return ops.tanh(x)


def holed(x: Any) -> Any:
    """NaN where x is above 1, and in an entire row."""
    row = np.array([[False], [True], [False]])
    return ops.where(ops.logical_or(x > 1, row), np.float32(np.nan), x)


def special(x: Any) -> Any:
    return ops.where(
        x > 1,
        np.float32(np.inf),
        ops.where(x < -1, np.float32(-np.inf), ops.where(ops.abs(x) < 0.4, np.float32(np.nan), x)),
    )


def starts(x: Any) -> Any:
    """Start positions of a slice."""
    return ops.clip(integers(x[0, 0, :3]), 0, 1)


SCALE = np.array([0.5, -1.0, 2.0, 0.25], "float32")

CASES: Mapping[str, Callable[[Any, Any], Any]] = {
    "AllClose": lambda x, y: ops.isclose(ops.cast(ops.numpy.allclose(x, x + 1e-9), "float32"), 1.0),
    "Angle": lambda x, y: ops.angle(x),
    "Append": lambda x, y: ops.append(x, integers(y), axis=1),
    "Arccos": lambda x, y: ops.arccos(inside(x)),
    "Arccosh": lambda x, y: ops.arccosh(ops.abs(x) + 1),
    "Arcsin": lambda x, y: ops.arcsin(inside(x)),
    "Arcsinh": lambda x, y: ops.arcsinh(x * 100),
    "Arctan": lambda x, y: ops.arctan(x),
    "Arctan2": lambda x, y: ops.arctan2(ops.round(x), ops.round(y)),
    "Arctanh": lambda x, y: ops.arctanh(inside(x)),
    "Argpartition": lambda x, y: ops.take_along_axis(x, ops.argsort(x), axis=-1)[..., :2],
    "Argsort": lambda x, y: ops.argsort(ops.round(x), axis=1),
    "Array": lambda x, y: ops.array(x, "float64"),
    "ArraySplit": lambda x, y: ops.array_split(x, 3, axis=-1)[1],
    "Average": lambda x, y: ops.average(x, axis=2, weights=SCALE + 1),
    "BitwiseAnd": lambda x, y: ops.bitwise_and(integers(x), integers(y)),
    "BitwiseInvert": lambda x, y: ops.bitwise_invert(integers(x)),
    "BitwiseLeftShift": lambda x, y: ops.bitwise_left_shift(integers(x), 3),
    "BitwiseNot": lambda x, y: ops.bitwise_not(integers(x)),
    "BitwiseOr": lambda x, y: ops.bitwise_or(integers(x), integers(y)),
    "BitwiseRightShift": lambda x, y: ops.bitwise_right_shift(integers(x, 50), 2),
    "BitwiseXor": lambda x, y: ops.bitwise_xor(integers(x), integers(y)),
    "Cbrt": lambda x, y: ops.cbrt(x),
    "Conj": lambda x, y: ops.conj(x),
    "Conjugate": lambda x, y: ops.conjugate(x),
    "Corrcoef": lambda x, y: ops.corrcoef(x[0]),
    "Correlate": lambda x, y: ops.correlate(ops.ravel(x), y[0, 0], mode="same"),
    "Nonzero": lambda x, y: ops.nonzero(x > 0)[1],
    "CountNonzero": lambda x, y: ops.count_nonzero(integers(x, 1), axis=1),
    "Cross": lambda x, y: ops.cross(x[..., :3], y[..., 1:3]),
    "Cumprod": lambda x, y: ops.cumprod(x, axis=1),
    "Cumsum": lambda x, y: ops.cumsum(x),
    "Deg2rad": lambda x, y: ops.deg2rad(x),
    "Diag": lambda x, y: ops.diag(x[0, 0], k=-2),
    "Diagflat": lambda x, y: ops.diagflat(x[0], k=1),
    "Diagonal": lambda x, y: ops.diagonal(x, offset=1, axis1=2, axis2=0),
    "Diff": lambda x, y: ops.diff(x, n=2, axis=1),
    "Digitize": lambda x, y: ops.digitize(x, np.array([-0.5, 0.0, 1.0])),
    "Dsplit": lambda x, y: ops.dsplit(x, 2)[1],
    "Dstack": lambda x, y: ops.dstack([x[:, 0], y[:, 1]]),
    "EmptyLike": lambda x, y: ops.zeros_like(ops.empty_like(x)),
    "Fabs": lambda x, y: ops.fabs(integers(x)),
    "Fliplr": lambda x, y: ops.fliplr(x),
    "Flipud": lambda x, y: ops.flipud(x),
    "Fmax": lambda x, y: ops.isnan(ops.fmax(holed(x), y)),
    "Fmin": lambda x, y: ops.fmin(holed(x), y),
    "Fmod": lambda x, y: ops.fmod(x, ops.abs(y) + 0.5),
    "Full": lambda x, y: ops.full((2, 3), x[0, 0, 0]),
    "Gcd": lambda x, y: ops.gcd(integers(x, 30), integers(y, 30)),
    "Geomspace": lambda x, y: ops.geomspace(ops.exp(x), ops.exp(y), 5),
    "Heaviside": lambda x, y: ops.heaviside(ops.round(x), y),
    "Hsplit": lambda x, y: ops.hsplit(x, [1])[1],
    "Hstack": lambda x, y: ops.hstack([x, y]),
    "Hypot": lambda x, y: ops.hypot(x, y),
    "I0": lambda x, y: ops.i0(x * 4),
    "Imag": lambda x, y: ops.imag(x),
    "Inner": lambda x, y: ops.inner(x, y),
    "Isclose": lambda x, y: ops.isclose(x, x * 1.000001),
    "Isfinite": lambda x, y: ops.isfinite(special(x)),
    "IsIn": lambda x, y: ops.isin(integers(x), integers(y)),
    "Isinf": lambda x, y: ops.isinf(special(x)),
    "Isnan": lambda x, y: ops.isnan(special(x)),
    "Isneginf": lambda x, y: ops.isneginf(special(x)),
    "Isposinf": lambda x, y: ops.isposinf(special(x)),
    "Isreal": lambda x, y: ops.isreal(x),
    "Kron": lambda x, y: ops.kron(x[0], y[0]),
    "Lcm": lambda x, y: ops.lcm(integers(x, 9), integers(y, 9)),
    "Ldexp": lambda x, y: ops.ldexp(x, integers(y)),
    "LeftShift": lambda x, y: ops.left_shift(integers(x), ops.abs(integers(y))),
    "Linspace": lambda x, y: ops.linspace(x, y, 5, endpoint=False, axis=-1),
    "Logaddexp": lambda x, y: ops.logaddexp(x, y * 30),
    "Logaddexp2": lambda x, y: ops.logaddexp2(x, y),
    "Logspace": lambda x, y: ops.logspace(x, y, 3, base=2),
    "Median": lambda x, y: ops.median(x, axis=(0, 2), keepdims=True),
    "Meshgrid": lambda x, y: ops.meshgrid(x[0, 0], y[0, :, 1])[1],
    "NanToNum": lambda x, y: ops.nan_to_num(special(x), posinf=7.0, neginf=-7.0),
    "Nanargmax": lambda x, y: ops.nanargmax(holed(x), axis=2),
    "Nanargmin": lambda x, y: ops.nanargmin(holed(x), axis=1, keepdims=True),
    "Nancumprod": lambda x, y: ops.nancumprod(holed(x), axis=2),
    "Nancumsum": lambda x, y: ops.nancumsum(holed(x)),
    "Nanmax": lambda x, y: ops.nan_to_num(ops.nanmax(holed(x), axis=2), nan=9.0),
    "Nanmean": lambda x, y: ops.nanmean(holed(x), axis=1),
    "Nanmedian": lambda x, y: ops.nan_to_num(ops.nanmedian(holed(x), axis=1), nan=9.0),
    "Nanmin": lambda x, y: ops.nanmin(holed(x)),
    "Nanpercentile": lambda x, y: ops.nanpercentile(holed(x), [20.0, 70.0], axis=1),
    "Nanprod": lambda x, y: ops.nanprod(holed(x), axis=2),
    "Nanquantile": lambda x, y: ops.nanquantile(holed(x), 0.3),
    "Nanstd": lambda x, y: ops.nanstd(holed(x), axis=1),
    "Nansum": lambda x, y: ops.nansum(holed(x), axis=(0, 1)),
    "Nanvar": lambda x, y: ops.nanvar(holed(x)),
    "Nextafter": lambda x, y: ops.nextafter(x, y),
    "Outer": lambda x, y: ops.outer(x, y),
    "Percentile": lambda x, y: ops.percentile(x, [0.0, 35.0, 100.0], axis=1),
    "Power": lambda x, y: ops.power(integers(x), ops.abs(integers(y, 2))),
    "Ptp": lambda x, y: ops.ptp(x, axis=1),
    "Quantile": lambda x, y: ops.quantile(x, 0.35, axis=(0, 2)),
    "Rad2deg": lambda x, y: ops.rad2deg(x),
    "Real": lambda x, y: ops.real(x),
    "Rearrange": lambda x, y: ops.rearrange(x, "b (h w) c -> (b w) c h", w=3),
    "RightShift": lambda x, y: ops.right_shift(integers(x, 100), ops.abs(integers(y))),
    "Roll": lambda x, y: ops.roll(x, (1, -2), axis=(1, 2)),
    "Rot90": lambda x, y: ops.rot90(x, k=3, axes=(0, 2)),
    "SaturateCast": lambda x, y: ops.saturate_cast(x * 300, "int8"),
    "Scatter": lambda x, y: ops.scatter(ops.argsort(x[0])[..., None], y[0], (5,)),
    "ScatterUpdate": lambda x, y: ops.scatter_update(
        x, np.array([[0, 2], [1, 0]]), y[:, 0], reduction="max"
    ),
    "SearchSorted": lambda x, y: ops.searchsorted(ops.sort(x[0, 0]), y[0, 0], side="right"),
    "Select": lambda x, y: ops.select([x > 1, y > 0], [x, y], 3.0),
    "Signbit": lambda x, y: ops.signbit(x),
    "Sinc": lambda x, y: ops.sinc(ops.round(x) + y),
    "Sinh": lambda x, y: ops.sinh(x),
    "Size": lambda x, y: ops.size(x),
    "Slice": lambda x, y: ops.slice(x, starts(y), (1, 2, 2)),
    "SliceUpdate": lambda x, y: ops.slice_update(x, starts(y), y[:1, :2, :2]),
    "Sort": lambda x, y: ops.sort(x, axis=1),
    "TakeAlongAxis": lambda x, y: ops.take_along_axis(x, ops.argsort(y, axis=1)[:, :2], axis=1),
    "Tan": lambda x, y: ops.tan(x),
    "Tensordot": lambda x, y: ops.tensordot(x, y, axes=[[1, 0], [1, 0]]),
    "Trace": lambda x, y: ops.trace(x, offset=-1, axis1=1, axis2=2),
    "Trapezoid": lambda x, y: ops.trapezoid(x, dx=0.5, axis=1),
    "Tril": lambda x, y: ops.tril(x, k=1),
    "Triu": lambda x, y: ops.triu(x, k=-1),
    "Trunc": lambda x, y: ops.trunc(x),
    "UnravelIndex": lambda x, y: ops.unravel_index(ops.argsort(ops.ravel(x)), (2, 3, 4))[1],
    "Unique": lambda x, y: ops.unique(ops.round(x), size=5, return_counts=True)[1],
    "Vander": lambda x, y: ops.vander(x[0, 0], 3),
    "Vdot": lambda x, y: ops.vdot(x, y),
    "View": lambda x, y: ops.view(x, "uint8"),
    "Vsplit": lambda x, y: ops.vsplit(x, 2)[1],
    "Vstack": lambda x, y: ops.vstack([x, y]),
}

MORE: Mapping[str, Callable[[Any, Any], Any]] = {
    "arctan2_quadrants": lambda x, y: ops.arctan2(
        ops.where(x > 99, x, np.array([0.0, -0.0, 0.0, -0.0], "float32")),
        np.array([1, 1, -1, -1], "float32"),
    ),
    "average_all": lambda x, y: ops.average(x, weights=ops.abs(y)),
    "clip_integers": lambda x, y: ops.clip(integers(x), -2, 2),
    "correlate_full": lambda x, y: ops.correlate(x[0, 0], y[0, 1], mode="full"),
    "cross_plane": lambda x, y: ops.cross(x[..., :2], y[..., 2:]),
    "diag_of_matrix": lambda x, y: ops.diag(x[0], k=1),
    "diff_of_bools": lambda x, y: ops.diff(x > 0),
    "einsum_integers": lambda x, y: ops.einsum("bij,bkj->ik", integers(x), integers(y)),
    "max_initial": lambda x, y: ops.max(x, axis=1, initial=0.5),
    "median_all": lambda x, y: ops.median(x),
    "meshgrid_ij": lambda x, y: ops.meshgrid(x[0, 0], y[0, :, 1], x[1, 1], indexing="ij")[2],
    "pad_reflect": lambda x, y: ops.pad(x, ((0, 1), (2, 1), (0, 3)), mode="reflect"),
    "pad_symmetric": lambda x, y: ops.pad(x, ((1, 0), (2, 3), (0, 4)), mode="symmetric"),
    "power_2": lambda x, y: integers(x) ** 3,
    "repeat_counts": lambda x, y: ops.repeat(x, [2, 0, 1], axis=1),
    "round_decimals": lambda x, y: ops.round(x, 2),
    "round_tens": lambda x, y: ops.round(integers(x, 40), -1),
    "roll_all": lambda x, y: ops.roll(x, 5),
    "scatter_add": lambda x, y: ops.scatter_update(
        x, np.array([[0, 2], [0, 2]]), y[:, 0], reduction="add"
    ),
    "take_tensor": lambda x, y: ops.take(x, ops.argsort(y[0, :, 0]) - 1, axis=1),
    "unique_of_any_count": lambda x, y: ops.unique(integers(x, 1)),
    "unique_inverse": lambda x, y: ops.unique(integers(x, 1), size=4, return_inverse=True)[1],
    "unique_rows": lambda x, y: ops.unique(integers(x, 0.5), axis=2, size=3)[..., :2],
    "vander_increasing": lambda x, y: ops.vander(integers(x[0, 0]), increasing=True),
    "weak_int": lambda x, y: ops.cast(ops.abs(x), "uint8") + 3,
    "weak_float": lambda x, y: ops.cast(x, "float16") * 0.5,
    "mixed_integers": lambda x, y: ops.cast(x, "int8") + ops.cast(ops.abs(y), "uint8"),
    "view_wider": lambda x, y: ops.view(ops.view(x, "int16"), "int32"),
}
