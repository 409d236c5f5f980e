"""The inputs that the framework of a model of nodes is asked for its outputs with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from webkiln.frontends.nodes.sizes import given_values, input_table, open_sizes, size_name
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.ir.types import Array
from webkiln.random_inputs import Inputs, ModelRun, distinguishing_inputs, make_inputs

Made = Callable[[Inputs, float], dict[str, dict[str, Array]]]


@dataclass(frozen=True)
class SampledInputs:
    """The inputs of a bundle at the sizes that it is tried at, and the values of the model's
    others, which its build fixes.
    """

    free: Inputs
    fixed: Mapping[str, Array]

    def sets(
        self, name: str, run: ModelRun, made: Made = make_inputs
    ) -> dict[str, dict[str, Array]]:
        """Those that `made` gives with the first scale at which what the model `name` computes
        differs; VerificationError where it never does.
        """
        return distinguishing_inputs(
            lambda scale: made(self.free, scale), lambda values: run(values)[0], name
        )


def sampled_inputs(
    model: NodeModel,
    params: Mapping[str, Any],
    samples: Mapping[str, int],
    part: NodeModel | None = None,
) -> SampledInputs:
    """As the parameters `dims`, `input_shapes` and `values` of a build say, and the sizes
    `samples`;
    where a `part` of the model is built, what they say of its own inputs and sizes does not concern
    the whole one.
    """
    dims, given, values = params["dims"], params["input_shapes"], params.get("values") or {}
    if part is not None and part.graph.inputs != model.graph.inputs:
        named = {item.name for item in model.graph.inputs}
        given, values = (
            {name: item for name, item in table.items() if name in named}
            for table in (given, values)
        )
        dims = {name: size for name, size in dims.items() if name in open_sizes(model)}
        taken = {
            *map(size_name, open_sizes(model)),
            *map(str, dims.values()),
            *(str(size) for shape in given.values() for size in shape),
        }
        samples = {name: size for name, size in samples.items() if name in taken}
    table = input_table(model, dims, given, samples)
    fixed = given_values(model, {name: shape for name, (_, shape) in table.items()}, values)
    return SampledInputs({name: item for name, item in table.items() if name not in fixed}, fixed)
