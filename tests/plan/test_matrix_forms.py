"""Which products have variants by subgroup matrices, and in how many parts."""

from textwrap import dedent

import pytest

from tests.programs import with_target
from webkiln.backends.table import REGISTRY
from webkiln.nest.schedule import InvocationSchedule
from webkiln.nest.steps import NestCall
from webkiln.nest.target import ARITHMETIC, FLOAT16, GPU_CLASSES
from webkiln.ops.table import parse
from webkiln.plan.devices import EMULATED, with_devices
from webkiln.plan.kernel import Kernel
from webkiln.recipe import values

ALL = [gpu.name for gpu in GPU_CLASSES]


def product(rows: int, depth: int, columns: int, factor: str = "a") -> str:
    return f"""
        input x: float32[{rows},{depth}]
        slot w: float32[{depth},{columns}]
        a: float32[{rows},{depth}] = Relu(x)
        y: float32[{rows},{columns}] = MatMul({factor}, w)
    """


def multiplied(
    text: str, precision: str = FLOAT16, matrices: bool = True
) -> list[tuple[NestCall, list[str]]]:
    """The calls whose factors are multiplied as matrices, and the classes of GPUs that run them."""
    backend = with_target(REGISTRY["webgpu"], precision=precision, runs={"matrices": matrices})
    planned = backend.plan(parse(f"graph g\n{dedent(text).strip()}\noutput y = y\n"))
    found = []
    for step, inside in with_devices(planned.steps):
        if (
            isinstance(step, NestCall)
            and isinstance(step.schedule, InvocationSchedule)
            and Kernel(step.nest, step.schedule).multiplies_matrices
        ):
            sizes = {EMULATED: 1, **{gpu.name: gpu.multiprocessors for gpu in GPU_CLASSES}}
            found.append((step, [name for name, size in sizes.items() if size in inside]))
    return found


@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(1024, 1024, 1024), (512, 768, 3072), (513, 1000, 1100), (64, 4096, 1024)],
)
def test_large_products_use_matrices_on_every_real_gpu(rows: int, depth: int, columns: int) -> None:
    ((_, names),) = multiplied(product(rows, depth, columns))
    assert names == ALL


@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(128, 384, 1536), (1024, 1024, 255), (63, 4096, 4096), (8192, 1024, 60)],
)
def test_small_and_narrow_products_do_not(rows: int, depth: int, columns: int) -> None:
    assert not multiplied(product(rows, depth, columns))


@pytest.mark.parametrize(
    ("precision", "matrices"),
    [(FLOAT16, False), ("float32", True), (ARITHMETIC, True)],
)
def test_matrices_need_the_option_and_the_precision(precision: str, matrices: bool) -> None:
    assert not multiplied(product(1024, 1024, 1024), precision, matrices)


def test_an_input_of_the_model_is_not_rounded_for_matrices() -> None:
    assert not multiplied(product(1024, 1024, 1024, factor="x"))


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "parts"),
    [
        (1024, 1024, 1024, None),
        (512, 3072, 768, 2),
        (64, 4096, 1024, 16),
        (64, 8192, 512, 16),
        (256, 2304, 512, 6),
        (64, 4100, 1024, None),
    ],
)
def test_sums_are_split_until_each_multiprocessor_has_a_block(
    rows: int, depth: int, columns: int, parts: int | None
) -> None:
    ((step, _),) = multiplied(product(rows, depth, columns))
    shape = step.outputs[0].type.shape
    assert shape == ((rows, columns) if parts is None else (parts, rows, columns))


def test_recipes_name_the_precision_as_targets_do() -> None:
    assert values.FLOAT16 == FLOAT16
