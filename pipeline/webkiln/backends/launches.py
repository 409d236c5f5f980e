"""The launches of a program as rows: kernel, count, cost."""

from collections.abc import Iterable, Iterator
from typing import Any

from webkiln.ir.dim import Size
from webkiln.ir.notation import size_from_json, size_to_json


def launches(steps: Iterable[dict[str, Any]], times: Size = 1) -> Iterator[dict[str, Any]]:
    """All launches of a program, including those in repeats, with the operations and bytes of all
    repetitions.
    """
    for step in steps:
        if "kernel" in step:
            yield {
                **step,
                **{
                    key: size_to_json(size_from_json(step[key]) * times)
                    for key in ("flops", "bytes")
                },
            }
        elif "multiprocessors" in step:
            for block in ("then", "else"):
                yield from launches(step[block], times)
        elif "repeat" in step:
            yield from launches(step["steps"], times * size_from_json(step["count"]))
