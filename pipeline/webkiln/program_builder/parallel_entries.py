"""The kernel and the entry of a launch that several calls share."""

from collections.abc import Sequence
from typing import Any

from webkiln.ir.dim import sum_sizes
from webkiln.ir.notation import size_from_json, size_to_json
from webkiln.plan.kernel import Kernel
from webkiln.plan.parallel_kernel import ParallelKernel

OF_CALLS = ("layer", "operands", "args")
"""What differs between calls."""


def parallel_entry(
    kernel: Kernel, entries: Sequence[dict[str, Any]]
) -> tuple[ParallelKernel, dict[str, Any]]:
    """`entries`: those of launches of `kernel`, one for each call."""
    shared = ParallelKernel(kernel, len(entries))
    first = entries[0]
    decided = {item["key"]: item for entry in entries for item in entry.get("decided", ())}
    totals = {
        name: size_to_json(sum_sizes(size_from_json(entry[name]) for entry in entries))
        for name in ("flops", "bytes")
    }
    return shared, {
        "kernel": shared.name,
        **({"segments": first["segments"]} if "segments" in first else {}),
        "layer": "+".join(dict.fromkeys(entry["layer"] for entry in entries if entry["layer"])),
        "calls": [{name: entry[name] for name in OF_CALLS} for entry in entries],
        "why": f"{len(entries)} calls in one launch, each {first['why']}",
        "passes": list(dict.fromkeys(name for entry in entries for name in entry["passes"])),
        **totals,
        **({"scalar": True} if "scalar" in first else {}),
        **({"decided": list(decided.values())} if decided else {}),
    }
