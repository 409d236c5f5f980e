"""The devices that run the steps of a program with branches on the size of the GPU."""

from collections.abc import Iterable, Iterator, Sequence

from webkiln.nest.steps import DeviceBranch, NestCall, Step
from webkiln.nest.target import GPU_CLASSES, GpuClass, Target

EMULATED = "emulated"
"""The class of GPUs that CPUs emulate, which are smaller than all others."""
ALL = range(1 << 31)
"""The numbers of multiprocessors of all devices."""


def class_of(multiprocessors: int) -> str:
    """The class of a GPU."""
    fitting = [gpu.name for gpu in GPU_CLASSES if gpu.multiprocessors <= multiprocessors]
    return fitting[-1] if fitting else EMULATED


def running(steps: Iterable[Step], classes: Sequence[GpuClass]) -> Iterator[tuple[str, ...]]:
    """For each call, in order, the names of the classes that run it. Without `classes`, a program
    has no branches, and the tuples are empty.
    """
    sizes = {EMULATED: 0, **{gpu.name: gpu.multiprocessors for gpu in classes}} if classes else {}
    for step, inside in with_devices(steps):
        if isinstance(step, NestCall):
            yield tuple(name for name, count in sizes.items() if count in inside)


def tuned_devices(steps: Iterable[Step], target: Target) -> Iterator[str | None]:
    """For each call, in order, the class of GPUs for which its tile and algorithm are tuned: empty
    if all devices run it, None if only classes with forms of their own do.
    """
    for names in running(steps, target.invocations.classes if target.invocations else ()):
        yield EMULATED if names == (EMULATED,) else "" if EMULATED in names or not names else None


def with_devices(steps: Iterable[Step], around: range = ALL) -> Iterator[tuple[Step, range]]:
    """All steps but branches on the size of the GPU, in order, also in nested blocks, and the
    numbers of multiprocessors of the devices that run them.
    """
    for step in steps:
        if isinstance(step, DeviceBranch):
            yield from with_devices(step.then, range(max(around.start, step.least), around.stop))
            low, high = around.start, min(around.stop, step.least)
            yield from with_devices(step.otherwise, range(low, high))
        else:
            yield step, around
            for block in step.blocks:
                yield from with_devices(block, around)


def emulated_steps(steps: Sequence[Step]) -> list[Step]:
    """The steps that an emulated GPU runs."""
    return steps_below(steps, 0)


def steps_below(steps: Sequence[Step], least: int) -> list[Step]:
    """The steps without branches that only devices of `least` multiprocessors or more take."""
    result: list[Step] = []
    for step in steps:
        if isinstance(step, DeviceBranch) and step.least >= least:
            result += steps_below(step.otherwise, least)
        else:
            result.append(step.map_blocks(lambda block: tuple(steps_below(block, least))))
    return result


def specialised(steps: Iterable[Step], multiprocessors: int) -> list[Step]:
    """The steps that a GPU of this size runs, without branches around them."""
    result: list[Step] = []
    for step in steps:
        if isinstance(step, DeviceBranch):
            block = step.then if multiprocessors >= step.least else step.otherwise
            result += specialised(block, multiprocessors)
        else:
            result.append(step)
    return result
