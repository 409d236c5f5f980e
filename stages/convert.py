"""spec.json -> graph.json, weights.json, sizes.json and texts.json: the model's structure in the IR, which blob fills which slot, what open sizes must be, and
how texts become the indices that it takes."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.build.structure import write_structure
from webkiln.frontends.keras import spec
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.plugins import isolated
from webkiln.ir.needs import sizes_json
from webkiln.ir.verify import verify
from webkiln.ops.plugins import check_backends, defined_by
from webkiln.ops.table import infer
from webkiln.plugins import import_files

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    data = canonical.read(inputs["spec.json"])
    converter = KerasConverter(params.get("batch_size", 1), params.get("input_shapes"))
    with isolated(inputs.get("modules/")), defined_by(inputs.get("operators/")):
        if data["handled"]:
            import_files(inputs["plugins/"] / name for name in params["plugins"])
            if "module" in params:
                import_module(params["module"])
        graph = converter.convert(spec.from_json(data), name=params.get("name"))
        check_backends(graph, params.get("backends", ()))
        verify(graph, infer)
        sizes = sizes_json(graph, infer)
    write_structure(graph, converter.digests, outputs["graph.json"], outputs["weights.json"])
    canonical.write(outputs["sizes.json"], sizes)
    canonical.write(outputs["texts.json"], {"texts": converter.texts})


if __name__ == "__main__":
    stage.main()
