"""Which neighbouring steps may share a launch, before their schedules are known and after."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from webkiln.nest.boxes import are_independent
from webkiln.nest.steps import DeviceBranch, NestCall, Parallel, Step, Workgroups

REACH = 16
"""The steps after one among which others for its launch are found."""
Joins = Callable[[Sequence[Step], Step], bool]
"""Whether a step may share the launch of those before it."""


def gathered(steps: Iterable[Step], joins: Joins) -> Iterator[list[Step]]:
    """The steps in groups, of which each begins with the first step that is in no other one, and
    has those after it that join and do not depend on what they pass.
    """
    rest = list(steps)
    while rest:
        group, passed = rest[:1], list[Step]()
        for step in rest[1 : REACH + 1]:
            if not all(map(_moves, (group[0], step))):
                break
            others = (*passed, *group)
            if joins(group, step) and all(are_independent(step, other) for other in others):
                group.append(step)
            else:
                passed.append(step)
        rest = passed + rest[len(passed) + len(group) :]
        yield group


def _moves(step: Step) -> bool:
    """Whether a step and others may change places: it computes no sizes that they need."""
    return isinstance(step, NestCall | Workgroups | Parallel | DeviceBranch)
