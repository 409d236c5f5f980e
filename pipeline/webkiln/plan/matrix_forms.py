"""The form of large products whose kernels have variants by subgroup matrices
(`codegen/matrix_product.py`), if a recipe asks for them. GPUs without matrices compute it as the
staged form that it is.

On an H100 under Chromium 156, products of float16 by subgroup matrices took 0.60 of the time of
the best float32 form for 512 x 768 x 3072 and 0.56 for 1024 x 1024 x 1024, but 1.23 for
128 x 384 x 1536, which is too small to occupy the GPU. Nothing between them was measured.
"""

from webkiln.nest.schedule import Form, Workgroup
from webkiln.nest.target import FLOAT16, GpuClass, Target
from webkiln.plan.gpu_cost import workgroups
from webkiln.plan.product_forms import SPLITS, UNIT, Choice, Product, split_loops

LEAST_TERMS = 1 << 28
"""The multiply-adds from which products use matrices: the geometric mean of the sizes above between
which they become faster.
"""
MATRIX_FORM = Form(8, 4, Workgroup(8, 16, depth=UNIT, staged=True, matrices=True))
"""A block of 64 x 64 results."""


def matrix_form(product: Product, target: Target, largest: GpuClass) -> Choice | None:
    """The form of a product on all classes of GPUs, if it uses matrices. The sum has the fewest
    parts that give each multiprocessor of the `largest` class a workgroup.
    """
    runs, size = target.invocations, product.size
    if (
        runs is None
        or not runs.matrices
        or target.precision != FLOAT16
        or product.call.exact
        or product.rows < MATRIX_FORM.rows
        or product.columns < MATRIX_FORM.columns
        or product.batch * product.rows * product.columns * product.depth < LEAST_TERMS
    ):
        return None
    choices = [
        Choice(MATRIX_FORM, split, parts)
        for split in SPLITS
        if (parts := split_loops(product, split, MATRIX_FORM.group.depth)) is not None
    ]
    enough = (
        item
        for item in choices
        if workgroups(size, MATRIX_FORM, item.split) >= largest.multiprocessors
    )
    return next(enough, choices[-1])
