"""The steps of a program that some devices run."""

from collections.abc import Sequence

from webkiln.nest.steps import DeviceBranch, Step


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
