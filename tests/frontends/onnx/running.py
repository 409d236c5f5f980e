"""ONNX models run as webkiln computes them and as onnxruntime does."""

from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime

from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.load import describe_model
from webkiln.ir.graph import Graph


def converted(model: onnx.ModelProto, **options: object) -> Graph:
    spec, blobs = describe_model(model, "model.onnx")
    return OnnxConverter(**options).convert(spec, blobs)  # type: ignore[arg-type]


def onnxruntime_outputs(model: onnx.ModelProto, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(values)), strict=True))
