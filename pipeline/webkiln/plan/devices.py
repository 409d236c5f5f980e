"""The classes of GPUs that run each call of a program with branches on the size of the GPU."""

from collections.abc import Iterable, Iterator, Sequence

from webkiln.nest.steps import DeviceBranch, NestCall, Step
from webkiln.nest.target import GPU_CLASSES, GpuClass, Target

EMULATED = "emulated"
"""The class of GPUs that CPUs emulate, which are smaller than all others."""
LARGEST = 1 << 31


def class_of(multiprocessors: int) -> str:
    """The class of a GPU."""
    fitting = [gpu.name for gpu in GPU_CLASSES if gpu.multiprocessors <= multiprocessors]
    return fitting[-1] if fitting else EMULATED


def running(steps: Iterable[Step], classes: Sequence[GpuClass]) -> Iterator[tuple[str, ...]]:
    """For each call, in order, the names of the classes that run it. Without `classes`, a program
    has no branches, and the tuples are empty.
    """
    sizes = {EMULATED: 0, **{gpu.name: gpu.multiprocessors for gpu in classes}} if classes else {}
    for inside in _sizes(steps, range(LARGEST)):
        yield tuple(name for name, count in sizes.items() if count in inside)


def tuned_devices(steps: Iterable[Step], target: Target) -> Iterator[str | None]:
    """For each call, in order, the class of GPUs for which its tile and algorithm are tuned: empty
    if all devices run it, None if only classes with forms of their own do.
    """
    for names in running(steps, target.invocations.classes if target.invocations else ()):
        yield EMULATED if names == (EMULATED,) else "" if EMULATED in names or not names else None


def _sizes(steps: Iterable[Step], around: range) -> Iterator[range]:
    """For each call, the numbers of multiprocessors of devices that run it."""
    for step in steps:
        if isinstance(step, NestCall):
            yield around
        elif isinstance(step, DeviceBranch):
            yield from _sizes(step.then, range(max(around.start, step.least), around.stop))
            yield from _sizes(step.otherwise, range(around.start, min(around.stop, step.least)))
        else:
            for block in step.blocks:
                yield from _sizes(block, around)
