"""The parts of a C function that prints a kernel. `types`: dtype -> type in memory."""

from collections.abc import Mapping

from webkiln.codegen.dialect import Dialect, fallback_arrays
from webkiln.plan.kernel import Kernel


def parameters(kernel: Kernel, types: Mapping[str, str]) -> list[str]:
    """Inputs, outputs, arguments, and the bounds of a thread's part."""
    nest = kernel.nest
    return [
        *(f"const {types[o.dtype]} *restrict x{n}" for n, o in enumerate(nest.inputs)),
        *(f"{types[o.operand.dtype]} *restrict y{n}" for n, o in enumerate(nest.outputs)),
        *(f"const int {name}" for name in (*kernel.arguments, *kernel.part)),
    ]


def arrays_outside(
    kernel: Kernel, dialect: Dialect, types: Mapping[str, str]
) -> dict[str, tuple[str, str, int]]:
    """Name -> (type, element, length) of the arrays that guarded loads may read instead."""
    return {
        name: (types[operand.dtype], value, max(kernel.schedule.tile.lanes, 4))
        for name, (operand, value) in fallback_arrays(kernel, dialect).items()
    }
