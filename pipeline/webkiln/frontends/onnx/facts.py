"""Metadata of an ONNX file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.inspect.facts import FileFacts, Inspector, listed, rows
from webkiln.frontends.nodes.summary import describe_nodes
from webkiln.frontends.onnx.check import parse_model


def read_facts(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> FileFacts:
    del params
    model = parse_model(inputs["source"])
    opsets = [f"{entry.domain or 'ai.onnx'} {entry.version}" for entry in model.opset_import]
    functions = [function.name for function in model.functions]
    external = inputs.get("external/")
    return FileFacts(
        rows(
            written_by=f"{model.producer_name} {model.producer_version}".strip(),
            version=f"IR {model.ir_version}, opset {listed(opsets) or 'unknown'}",
            graph=model.graph.name,
            functions=listed(functions),
            beside_it=listed([path.name for path in sorted(external.iterdir())])
            if external is not None
            else "",
        )
    )


FACTS = Inspector(read_facts, describe_nodes)
