"""All cases of ai.onnx.ml."""

from tests.frontends.onnx.feature_cases import features
from tests.frontends.onnx.linear_cases import linear, machines
from tests.frontends.onnx.tree_cases import trees

FAMILIES = {"features": features, "linear": linear, "machines": machines, "trees": trees}
