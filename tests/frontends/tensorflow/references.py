"""Reference outputs of TensorFlow for a model or a subgraph."""

from pathlib import Path
from typing import Any

import numpy as np

from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.nodes.sample_inputs import sampled_inputs
from webkiln.frontends.tensorflow.load import read_model
from webkiln.frontends.tensorflow.reference import compute_reference

PARAMS: dict[str, Any] = {"dims": {}, "input_shapes": {}}
Arrays = dict[str, np.ndarray]


def reference(
    path: Path, subgraph: Subgraph = ENTIRE_MODEL, signature: str = ""
) -> tuple[Arrays, Arrays]:
    (model, _), (part, _) = (
        read_model(path, None, signature, item) for item in (ENTIRE_MODEL, subgraph)
    )
    return compute_reference(path, None, signature, part, sampled_inputs(model, PARAMS, {}, part))
