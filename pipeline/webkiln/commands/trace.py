"""A profile in Chrome's trace event format, for chrome://tracing and Perfetto."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from webkiln.commands.figures import NO_LAYER, where

PROCESS, THREAD = 1, 1


def trace(name: str, profile: Mapping[str, Any]) -> dict[str, Any]:
    """The fastest run: launches nested in layers, with times in microseconds."""
    events = [
        {"name": kind, "ph": "M", "pid": PROCESS, "tid": THREAD, "args": {"name": text}}
        for kind, text in (("process_name", f"webkiln {name}"), ("thread_name", where(profile)))
    ]
    return {
        "traceEvents": [*events, *_events(profile["timeline"], profile["launches"])],
        "displayTimeUnit": "ms",
    }


def _events(
    timeline: Sequence[Mapping[str, Any]], launches: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    for layer, group in groupby(timeline, key=lambda entry: launches[entry["launch"]]["layer"]):
        entries = list(group)
        begin, end = entries[0]["startMs"], max(entry["startMs"] + entry["ms"] for entry in entries)
        yield _event(layer or NO_LAYER, "layer", begin, end - begin, {})
        for entry in entries:
            launch = launches[entry["launch"]]
            arguments = {key: launch[key] for key in ("layer", "flops", "bytes")} | {
                "launch": entry["launch"]
            }
            yield _event(launch["kernel"], "launch", entry["startMs"], entry["ms"], arguments)


def _event(
    name: str, category: str, begin: float, ms: float, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    times = {"ts": round(begin * 1000, 3), "dur": round(ms * 1000, 3)}
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        **times,
        "pid": PROCESS,
        "tid": THREAD,
        "args": dict(arguments),
    }
