"""Measure the candidates of every kernel: bundles that differ only in their choices run in turn, in
one session of a browser or Node.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.backends import host
from webkiln.backends.samples import sample_inputs
from webkiln.build import stage
from webkiln.codegen.steps import sites
from webkiln.plan.devices import class_of
from webkiln.plan.measurements import candidate_times, fastest, serves, times_of_launches

DATA = ()
ROUNDS = 3
RUNS = 10


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    backend, browser = params["backend"], params["browser"]
    programs: dict[Path, list[dict[str, Any]]] = {}
    seen: set[str] = set()
    for role in (role for role in inputs if role.startswith("program.")):
        digest = canonical.file_digest(inputs[role])
        if digest not in seen:
            seen.add(digest)
            programs[inputs[f"bundle.{role.split('.')[1]}/"]] = list(
                sites(canonical.read(inputs[role])["main"])
            )
    manifest = host.read_manifest(next(iter(programs)))
    decided = {
        item["key"]: [name for name, *_ in item["candidates"]]
        for steps in programs.values()
        for step in steps
        for item in step.get("decided", ())
    }
    kernels, variant, device = {}, None, None
    if decided:
        stage.report_progress(f"{len(programs)} programs")
        given = next(iter(sample_inputs(manifest).values()))
        rounds = host.profile_bundles(
            list(programs), backend, given, host=browser, runs=RUNS, rounds=ROUNDS
        )
        variant, count = rounds[0][0]["variant"], rounds[0][0]["multiprocessors"]
        device = None if count is None else class_of(count)
        measured = candidate_times(list(programs.values()), times_of_launches(rounds))
        kernels = {
            key: {"chosen": fastest(decided[key], ms), "rule": decided[key][0], "ms": ms}
            for key, ms in measured.items()
            if serves(key, device)
        }
    about = {
        "backend": backend,
        "variant": variant,
        "device": device,
        "browser": browser,
        "version": host.version(browser),
    }
    canonical.write(
        outputs["measured.json"], {"schema": "webkiln.measured/1", **about, "kernels": kernels}
    )


if __name__ == "__main__":
    stage.main()
