"""spec.json of a program of PyTorch -> its structure in the IR."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from webkiln.frontends.converted import Converted
from webkiln.frontends.cut import cut_of
from webkiln.frontends.nodes.spec import from_json
from webkiln.frontends.nodes.stage import converted_nodes
from webkiln.frontends.torch.converter import TorchConverter


def converted(data: Mapping[str, Any], inputs: Mapping[str, Path], params: Mapping[str, Any]) -> AbstractContextManager[Converted]:
    """Of a part of TorchScript, shapes were given of the inputs that the whole program is traced with, too."""
    shapes = params["input_shapes"]
    if cut_of(params):
        shapes = {item.name: shapes[item.name] for item in from_json(data).graph.inputs if item.name in shapes}
    return converted_nodes(TorchConverter, data, inputs, {**params, "input_shapes": shapes})
