"""How a call runs on a backend, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webkiln.nest.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Choice:
    """A schedule with its explanation, and the tuning decision that led to it, if there was one."""

    schedule: Schedule
    why: str
    decision: Mapping[str, Any] | None = None
