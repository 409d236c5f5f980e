"""spec.json of an ONNX model -> graph.json, weights.json and sizes.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.build.structure import write_structure
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.handlers import isolated
from webkiln.frontends.onnx.spec import from_json
from webkiln.ir.needs import sizes_json
from webkiln.ir.verify import verify
from webkiln.ops.plugins import check_backends, defined_by
from webkiln.ops.table import infer
from webkiln.plugins import import_files

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    converter = OnnxConverter(params["dims"], params["input_shapes"], params.get("values"))
    with isolated(), defined_by(inputs.get("operators/")):
        import_files(inputs["plugins/"] / name for name in params["plugins"])
        graph = converter.convert(from_json(canonical.read(inputs["spec.json"])), name=params["name"])
        check_backends(graph, params.get("backends", ()))
        verify(graph, infer)
        sizes = sizes_json(graph, infer)
    write_structure(graph, converter.digests, outputs["graph.json"], outputs["weights.json"])
    canonical.write(outputs["sizes.json"], sizes)


if __name__ == "__main__":
    stage.main()
