"""spec.json -> graph.json (the model's structure in the IR), weights.json (slot -> blob),
sizes.json (constraints on symbolic sizes), and further metadata of the format.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.build.structure import write_structure
from webkiln.frontends.core.format_stages import stage_module
from webkiln.ir.constraints import sizes_json
from webkiln.ir.verify import verify
from webkiln.ops.plugins import check_backends
from webkiln.ops.table import infer

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    spec = canonical.read(inputs["spec.json"])
    with stage_module(params["format"], "convert").converted(spec, inputs, params) as conversion:
        check_backends(conversion.graph, params.get("backends", ()))
        verify(conversion.graph, infer)
        sizes = sizes_json(conversion.graph, infer)
        write_structure(
            conversion.graph,
            conversion.weights,
            outputs["graph.json"],
            outputs["weights.json"],
            spec["stored_bytes"],
        )
        canonical.write(outputs["sizes.json"], sizes)
        for name, data in conversion.files.items():
            canonical.write(outputs[name], data)


if __name__ == "__main__":
    stage.main()
