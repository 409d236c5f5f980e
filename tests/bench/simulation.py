"""Simulates a build by a fleet from a recording of another one: jobs on processors, each of which
divides its time equally among its jobs.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

BYTES_PER_SECOND, BLOB_SECONDS = 1e8, 0.002
"""The throughput and the round-trip time of a network between machines."""
AT_ONCE = 8
"""The number of concurrent transfers."""


@dataclass(frozen=True, slots=True)
class Message:
    """Steps that one worker performs at once: their processor time, and what is transferred for
    them.
    """

    tasks: tuple[str, ...]
    seconds: float
    blobs: int
    bytes: int

    @property
    def stage(self) -> str:
        return self.tasks[0].partition(":")[0]

    @property
    def model(self) -> str:
        return self.tasks[0].split(":")[1]

    @property
    def transfer(self) -> float:
        """Seconds of the transfers between machines, in addition to the processor time."""
        return self.bytes / BYTES_PER_SECOND + math.ceil(self.blobs / AT_ONCE) * BLOB_SECONDS


@dataclass(frozen=True, slots=True)
class Recording:
    """A build with one worker. `before`, `step` and `message` are processor time of the user's
    machine: before the first request, for each step, and of all processes that serve a message.
    """

    messages: tuple[Message, ...]
    before: float
    step: float
    message: float


@dataclass(slots=True)
class _Job:
    remaining: float
    processor: int
    then: str
    message: int
    worker: int = -1


@dataclass(slots=True)
class _Fleet:
    idle: list[int]
    warm: set[tuple[int, str]] = field(default_factory=set)


def dependencies(messages: Sequence[Message]) -> list[set[int]]:
    """The messages that must precede each message. An object may be compiled for any earlier model,
    so linking waits for the compilation of all of them.
    """
    required: list[set[int]] = []
    for number, message in enumerate(messages):
        dependencies_of_message = {
            other for other in range(number) if messages[other].model == message.model
        }
        if message.stage == "link":
            dependencies_of_message |= {
                other for other in range(number) if messages[other].stage == "compile"
            }
        elif message.stage == "compile":
            dependencies_of_message -= {
                other
                for other in dependencies_of_message
                if messages[other].stage in ("compile", "link")
            }
        required.append(dependencies_of_message)
    return required


def first_costs(messages: Sequence[Message]) -> Mapping[str, float]:
    """The extra cost of the first message of each stage: a worker imports its framework once."""
    by_stage: dict[str, list[float]] = defaultdict(list)
    for message in messages:
        by_stage[message.stage].append(message.seconds)
    return {
        stage: max(0.0, times[0] - median(times)) if stage == "load" else 0.0
        for stage, times in by_stage.items()
    }


def simulate(recording: Recording, workers: Sequence[int], *, network: bool = True) -> float:
    """The duration in seconds of a build whose workers run on the given processors. The user's
    machine, the scheduler and the cache share processor 0.
    """
    messages = recording.messages
    before, extra = dependencies(messages), first_costs(messages)
    first_messages = {
        stage: next(number for number, message in enumerate(messages) if message.stage == stage)
        for stage in extra
    }
    fleet, finished, waiting, queue = (
        _Fleet([*range(len(workers))]),
        set[int](),
        set(range(len(messages))),
        list[int](),
    )
    now, jobs = recording.before, list[_Job]()

    def usual_seconds(number: int) -> float:
        message = messages[number]
        return message.seconds - (
            extra[message.stage] if number == first_messages[message.stage] else 0.0
        )

    while waiting or jobs or queue:
        for number in sorted(waiting):
            if before[number] <= finished:
                waiting.remove(number)
                # Half of a message's cost on the user's machine precedes its transmission.
                jobs.append(_Job(_user_seconds(recording, number) / 2, 0, "sent", number))
        while queue and fleet.idle:
            number, worker = queue.pop(0), fleet.idle.pop(0)
            stage = messages[number].stage
            first = 0.0 if (worker, stage) in fleet.warm else extra[stage]
            fleet.warm.add((worker, stage))
            seconds = (
                usual_seconds(number) + first + (messages[number].transfer if network else 0.0)
            )
            jobs.append(_Job(seconds, workers[worker], "done", number, worker))
        share = defaultdict(int)
        for job in jobs:
            share[job.processor] += 1
        elapsed = min(job.remaining * share[job.processor] for job in jobs)
        now += elapsed
        for job in jobs:
            job.remaining -= elapsed / share[job.processor]
        for job in [job for job in jobs if job.remaining < 1e-9]:
            jobs.remove(job)
            if job.then == "sent":
                queue.append(job.message)
            elif job.then == "done":
                fleet.idle.append(job.worker)
                jobs.append(
                    _Job(_user_seconds(recording, job.message) / 2, 0, "received", job.message)
                )
            else:
                finished.add(job.message)
    return now


def _user_seconds(recording: Recording, number: int) -> float:
    return recording.message + recording.step * len(recording.messages[number].tasks)
