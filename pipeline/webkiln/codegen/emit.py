"""Print a kernel in any dialect: as nested loops, as the body of one GPU invocation, or as the body
of one fragment.

A schedule replicates the innermost body for the neighbours of a tile. Lanes are vectors if the
dialect has them, else scalars.
"""

from webkiln.codegen.dialect import Dialect
from webkiln.codegen.fragments import Fragments
from webkiln.codegen.invocations import Invocations
from webkiln.codegen.loops import Loops
from webkiln.nest.schedule import FragmentSchedule, InvocationSchedule, LoopSchedule
from webkiln.plan.kernel import Kernel


def body(kernel: Kernel, dialect: Dialect) -> list[str]:
    """The statements of the kernel's function."""
    schedule = kernel.schedule
    if isinstance(schedule, LoopSchedule):
        return Loops(kernel, schedule, dialect).print()
    if isinstance(schedule, FragmentSchedule):
        return Fragments(kernel, schedule, dialect).print()
    assert isinstance(schedule, InvocationSchedule)
    return Invocations(kernel, schedule, dialect).print()
