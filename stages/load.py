"""A model and its companion files -> spec.json and weight blobs, by the format's code."""

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.build.structure import write_blobs
from webkiln.frontends.core.arrays import expansion_limit
from webkiln.frontends.core.format_stages import stage_module
from webkiln.frontends.core.formats import check_format

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    if "module" not in params and "external/" not in inputs:
        check_format(inputs["source"], params["format"])
    sources = [
        path for name in ("source", "external/") if name in inputs for path in _files(inputs[name])
    ]
    stored_bytes = sum(path.stat().st_size for path in sources)
    with nullcontext() if "module" in params else expansion_limit(stored_bytes):
        spec, blobs = stage_module(params["format"], "load").load(inputs, params)
    canonical.write(outputs["spec.json"], {**spec, "stored_bytes": stored_bytes})
    write_blobs(blobs, outputs["weights/"])


def _files(path: Path) -> list[Path]:
    return [item for item in path.rglob("*") if item.is_file()] if path.is_dir() else [path]


if __name__ == "__main__":
    stage.main()
