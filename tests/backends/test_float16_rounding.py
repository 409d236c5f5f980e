"""float16 tensors that are rounded by every operator, against numpy's float16 arithmetic."""

from pathlib import Path

import numpy as np
import pytest

from tests.backends.harness import Job, run
from webkiln.ops.table import parse

WIDTHS = (1, 3, 4, 7, 16, 35)
ROWS = 4
TEXT = """graph g
input a: float16[4,WIDTH]
input b: float16[4,WIDTH]
input w: float16[1,WIDTH]
s: float16[4,WIDTH] = Add(a, b)
p: float16[4,WIDTH] = Mul(s, w)
q: float16[4,WIDTH] = Div(p, b)
d: float16[4,WIDTH] = Sub(q, a)
e: float16[4,WIDTH] = Abs(d)
r: float16[4,WIDTH] = Sqrt(e)
n: float16[4,WIDTH] = Neg(r)
m: float16[4,WIDTH] = Max(n, w)
c: float16[4,WIDTH] = Relu(p)
less: bool[4,WIDTH] = Less(d, m)
y: float16[4,WIDTH] = Where(less, d, m)
f: float32[4,WIDTH] = Cast(q) {"dtype":"float32"}
output y = y
output r = r
output c = c
output f = f
"""


def expected(a: np.ndarray, b: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
    with np.errstate(all="ignore"):
        p = (a + b) * w
        q = p / b
        d = q - a
        r = np.sqrt(np.abs(d))
        m = np.maximum(-r, w)
        c = np.maximum(p, np.float16(0))
    return {"y": np.where(d < m, d, m), "r": r, "c": c, "f": q.astype(np.float32)}


def operands(width: int) -> list[np.ndarray]:
    """Numbers of all magnitudes: sums overflow, and quotients are subnormal."""
    random = np.random.default_rng(width)
    return [
        np.float16(
            random.choice([-1, 1], (rows, width)) * 2.0 ** random.uniform(-16, 15.9, (rows, width))
        )
        for rows in (ROWS, ROWS, 1)
    ]


@pytest.mark.parametrize(
    ("backend", "variant"), [("js", ""), ("wasm", "simd"), ("wasm", "relaxed")]
)
def test_elementwise_chains_have_the_bits_of_numpy(
    backend: str, variant: str, tmp_path: Path
) -> None:
    jobs = [
        Job(
            parse(TEXT.replace("WIDTH", str(width))), dict(zip("abw", operands(width), strict=True))
        )
        for width in WIDTHS
    ]
    results = run(jobs, backend, tmp_path, variant, runs={"holds_float16": False})
    for job, got in zip(jobs, results, strict=True):
        for name, want in expected(*job.inputs.values()).items():
            bits = np.uint16 if want.dtype == np.float16 else np.uint32
            assert got[name].dtype == want.dtype
            same = (got[name].view(bits) == want.view(bits)) | (
                np.isnan(got[name]) & np.isnan(want)
            )
            assert same.all(), (name, job.inputs["a"].shape, got[name][~same], want[~same])


@pytest.mark.parametrize("backend", ["js", "wasm"])
def test_held_tensors_are_not_rounded(backend: str, tmp_path: Path) -> None:
    """The sum of the first test overflows in float16, and its difference from `b` does not."""
    text = """
        input a: float16[8]
        input b: float16[8]
        s: float16[8] = Add(a, b)
        y: float16[8] = Sub(s, b)
        output y = y
    """
    full = np.full(8, 60000, np.float16)
    job = Job(parse(text), {"a": full, "b": full})
    (held,) = run([job], backend, tmp_path / "held")
    (rounded,) = run([job], backend, tmp_path / "rounded", runs={"holds_float16": False})
    np.testing.assert_array_equal(held["y"], full)
    assert np.isposinf(rounded["y"]).all()


@pytest.mark.parametrize(
    ("backend", "variant"), [("js", ""), ("wasm", "simd"), ("wasm", "relaxed")]
)
def test_all_values_are_converted(backend: str, variant: str, tmp_path: Path) -> None:
    """Every float16 to float32; back every float32 halfway between two, and its neighbours."""
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    finite = np.unique(np.abs(halves[np.isfinite(halves)])).astype(np.float32)
    ties = np.append((finite[1:] + finite[:-1]) / 2, np.float32(65520))
    near = [ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(np.inf))]
    special = np.array([0, np.inf, np.nan, 1e38, 1e-38, 1e-45], np.float32)
    singles = np.concatenate([*near, special])
    singles = np.concatenate([singles, -singles])
    text = f"""
        input h: float16[{halves.size}]
        input s: float32[{singles.size}]
        y: float32[{halves.size}] = Cast(h) {{"dtype":"float32"}}
        z: float16[{singles.size}] = Cast(s) {{"dtype":"float16"}}
        output y = y
        output z = z
    """
    job = Job(parse(text), {"h": halves, "s": singles})
    (got,) = run([job], backend, tmp_path, variant, runs={"holds_float16": False})
    with np.errstate(over="ignore"):
        wanted = {"y": halves.astype(np.float32), "z": singles.astype(np.float16)}
    for name, want in wanted.items():
        np.testing.assert_array_equal(got[name], want, name)
        zero = want == 0
        np.testing.assert_array_equal(np.signbit(got[name][zero]), np.signbit(want[zero]))
