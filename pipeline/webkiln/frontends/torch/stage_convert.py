"""spec.json of a program of PyTorch -> its structure in the IR."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from webkiln.frontends.converted import Converted
from webkiln.frontends.nodes.stage import converted_nodes
from webkiln.frontends.torch.converter import TorchConverter


def converted(
    data: Mapping[str, Any], inputs: Mapping[str, Path], params: Mapping[str, Any]
) -> AbstractContextManager[Converted]:  # fmt: skip
    return converted_nodes(TorchConverter, data, inputs, params)
