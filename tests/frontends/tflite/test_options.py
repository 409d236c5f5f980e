"""Every option of the operators of TensorFlow Lite with every value, in models of one operator,
compared with the interpreter of ai-edge-litert.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.frontends.corpus import Sample, reference_mismatch
from tests.frontends.tflite.make import single_inputs
from tests.frontends.tflite.operator_model import RELU6, Single, f, model_bytes, window
from tests.frontends.tflite.options.activations import activations, wide_input
from tests.frontends.tflite.options.axes import axes, axis_lists, flags
from tests.frontends.tflite.options.products import groups, logarithms, matrices, spectra
from tests.frontends.tflite.options.values import resizes, values
from tests.frontends.tflite.options.windows import windows
from webkiln.errors import SourceError
from webkiln.frontends.tflite.converter import TfliteConverter
from webkiln.frontends.tflite.load import read_model
from webkiln.frontends.tflite.reference import Interpreted


def mismatch(single: Single, folder: Path) -> str | None:
    path = folder / "model.tflite"
    path.write_bytes(model_bytes(single))
    inputs: dict[str, Any] = single_inputs(single)
    try:
        outputs, _ = Interpreted(path)(inputs)
    except SourceError as error:
        return str(error)
    model, blobs = read_model(path)
    with np.errstate(all="ignore"):
        return reference_mismatch(
            Sample(single.name, TfliteConverter().convert(model, blobs), inputs, outputs)
        )


FAMILIES = [
    activations,
    windows,
    flags,
    resizes,
    axes,
    values,
    axis_lists,
    matrices,
    groups,
    spectra,
    logarithms,
]


@pytest.mark.parametrize("models", FAMILIES)
def test_options_match_the_interpreter(models: Any, tmp_path: Path) -> None:
    singles = list(models())
    results = {single.name: mismatch(single, tmp_path) for single in singles}
    assert len(results) == len(singles) >= 12
    assert not {name: message for name, message in results.items() if message}


def test_max_pooling_applies_its_activation(tmp_path: Path) -> None:
    """RELU6 clips to 0 and 6."""
    single = Single(
        "pool",
        "MAX_POOL_2D",
        [wide_input(1, 4, 4, 2)],
        [f(1, 2, 2, 2)],
        window(
            "Pool2DOptions",
            filterWidth=2,
            filterHeight=2,
            strideW=2,
            strideH=2,
            fusedActivationFunction=RELU6,
        ),
    )
    path = tmp_path / "model.tflite"
    path.write_bytes(model_bytes(single))
    outputs, _ = Interpreted(path)({"x0": np.arange(-16, 16, dtype=np.float32).reshape(1, 4, 4, 2)})
    (y,) = outputs.values()
    assert (y.min(), y.max()) == (0, 6)
    assert mismatch(single, tmp_path) is None
