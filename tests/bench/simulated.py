"""A build by a fleet, simulated from what one was recorded to take: jobs on processors, each of
which divides its time equally among its jobs.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

BYTES_PER_SECOND, BLOB_SECONDS = 1e8, 0.002
"""Of a network between machines: its throughput, and a round trip, of which there are eight at
once.
"""
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Message:
    """Steps that one worker does in one go: the processor time that they take, and what is
    transferred.
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
        """Seconds that it takes between machines, beyond the processor time."""
        return self.bytes / BYTES_PER_SECOND + math.ceil(self.blobs / AT_ONCE) * BLOB_SECONDS


@dataclass(frozen=True, slots=True)
class Recording:
    """A build with one worker. Of the user's machine: processor time before the first question, of
    a step, and of all that serves a message.
    """

    messages: tuple[Message, ...]
    before: float
    step: float
    message: float


@dataclass(slots=True)
class _Job:
    left: float
    processor: int
    then: str
    message: int
    worker: int = -1


@dataclass(slots=True)
class _Fleet:
    idle: list[int]
    warm: set[tuple[int, str]] = field(default_factory=set)


def needs(messages: Sequence[Message]) -> list[set[int]]:
    """By message, those that come before it. An object may be made for any of the models before, so
    that linking waits for all of their compilation.
    """
    found: list[set[int]] = []
    for number, message in enumerate(messages):
        same = {other for other in range(number) if messages[other].model == message.model}
        if message.stage == "link":
            same |= {other for other in range(number) if messages[other].stage == "compile"}
        elif message.stage == "compile":
            same -= {other for other in same if messages[other].stage in ("compile", "link")}
        found.append(same)
    return found


def first_costs(messages: Sequence[Message]) -> Mapping[str, float]:
    """What the first message of each kind takes beyond the usual: a worker imports its framework
    once.
    """
    by_stage: dict[str, list[float]] = defaultdict(list)
    for message in messages:
        by_stage[message.stage].append(message.seconds)
    return {
        stage: max(0.0, times[0] - median(times)) if stage == "load" else 0.0
        for stage, times in by_stage.items()
    }


def simulate(recording: Recording, workers: Sequence[int], *, network: bool = True) -> float:
    """Seconds of a build whose workers are on the given processors; the user's machine, the
    scheduler and the cache are on processor 0.
    """
    messages = recording.messages
    before, extra = needs(messages), first_costs(messages)
    begun = {
        stage: next(number for number, message in enumerate(messages) if message.stage == stage)
        for stage in extra
    }
    fleet, done, waiting, queue = (
        _Fleet([*range(len(workers))]),
        set[int](),
        set(range(len(messages))),
        list[int](),
    )
    now, jobs = recording.before, list[_Job]()

    def usual(number: int) -> float:
        message = messages[number]
        return message.seconds - (extra[message.stage] if number == begun[message.stage] else 0.0)

    while waiting or jobs or queue:
        for number in sorted(waiting):
            if before[number] <= done:
                waiting.remove(number)
                # Half of what a message costs the user's machine comes before it is sent.
                jobs.append(_Job(_own(recording, number) / 2, 0, "sent", number))
        while queue and fleet.idle:
            number, worker = queue.pop(0), fleet.idle.pop(0)
            stage = messages[number].stage
            first = 0.0 if (worker, stage) in fleet.warm else extra[stage]
            fleet.warm.add((worker, stage))
            seconds = usual(number) + first + (messages[number].transfer if network else 0.0)
            jobs.append(_Job(seconds, workers[worker], "done", number, worker))
        share = defaultdict(int)
        for job in jobs:
            share[job.processor] += 1
        passed = min(job.left * share[job.processor] for job in jobs)
        now += passed
        for job in jobs:
            job.left -= passed / share[job.processor]
        for job in [job for job in jobs if job.left < 1e-9]:
            jobs.remove(job)
            if job.then == "sent":
                queue.append(job.message)
            elif job.then == "done":
                fleet.idle.append(job.worker)
                jobs.append(_Job(_own(recording, job.message) / 2, 0, "heard", job.message))
            else:
                done.add(job.message)
    return now


def _own(recording: Recording, number: int) -> float:
    return recording.message + recording.step * len(recording.messages[number].tasks)
