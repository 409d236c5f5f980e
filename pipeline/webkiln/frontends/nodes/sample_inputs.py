"""Sample inputs with which a node format's framework computes the reference outputs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from webkiln.frontends.nodes.sizes import (
    fixed_values,
    input_table,
    open_size_names,
    size_values,
)
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.ir.input_names import by_input
from webkiln.ir.symbols import size_name
from webkiln.ir.types import Array
from webkiln.random_inputs import (
    DISTRIBUTIONS,
    NATURAL,
    SAMPLE_SIZE,
    STRING,
    Inputs,
    ModelRun,
    Vocabularies,
    distinguishing_inputs,
    make_inputs,
)

InputGenerator = Callable[[Inputs, float], dict[str, dict[str, Array]]]


@dataclass(frozen=True, slots=True)
class Noise:
    """The random numbers that a node draws: their dtype and shape, and their distribution with its
    two parameters.
    """

    dtype: str
    shape: tuple[int, ...]
    distribution: str
    parameters: tuple[float, float]


@dataclass(frozen=True)
class SampledInputs:
    """The inputs of a bundle at sample sizes (`free`), the values of the inputs that the build
    fixes (`fixed`), the values of inputs of sizes (`sizes`), the inputs of random numbers
    (`noises`), and words for the inputs of strings.
    """

    free: Inputs
    fixed: Mapping[str, Array]
    sizes: Mapping[str, Array] = field(default_factory=dict)
    noises: Mapping[str, Noise] = field(default_factory=dict)
    words: Vocabularies = field(default_factory=dict)

    def natural(self) -> dict[str, Array]:
        """One natural set of the inputs, without random numbers."""
        return {**make_inputs(self.free, vocabularies=self.words)[NATURAL[0]], **self.sizes}

    def with_noises(self, noises: Mapping[str, Noise]) -> Self:
        """The inputs with random numbers, by the names of their inputs."""
        return replace(self, noises=noises)

    def sets(
        self, name: str, run: ModelRun, generate: InputGenerator | None = None
    ) -> dict[str, dict[str, Array]]:
        """The input sets of `generate`, at the first scale at which the outputs of the model differ
        between inputs. Raise VerificationError if they never do.
        """
        make = generate or self._random
        return distinguishing_inputs(
            lambda scale: self._with_sizes(make(self.free, scale)),
            lambda values: run(values)[0],
            name,
        )

    def _random(self, free: Inputs, scale: float) -> dict[str, dict[str, Array]]:
        noises = self.noises
        return make_inputs(
            {**free, **{name: (noise.dtype, noise.shape) for name, noise in noises.items()}},
            scale,
            {
                name: (
                    noise.distribution,
                    dict(zip(DISTRIBUTIONS[noise.distribution], noise.parameters, strict=True)),
                )
                for name, noise in noises.items()
            },
            self.words,
        )

    def _with_sizes(self, sets: Mapping[str, dict[str, Array]]) -> dict[str, dict[str, Array]]:
        return {name: {**values, **self.sizes} for name, values in sets.items()}


def sampled_inputs(
    model: NodeModel,
    params: Mapping[str, Any],
    samples: Mapping[str, int],
    subgraph: NodeModel | None = None,
) -> SampledInputs:
    """Derive the inputs from the build parameters `dims`, `input_shapes` and `values`, and the
    sizes `samples`.

    If a `part` of the model is built, parameters for inputs and sizes that only the part has are
    ignored.
    """
    dims, names = params["dims"], [item.name for item in model.graph.inputs]
    shapes, values = (
        by_input(table, names) for table in (params["input_shapes"], params.get("values") or {})
    )
    if subgraph is not None and subgraph.graph.inputs != model.graph.inputs:
        input_names = {item.name for item in model.graph.inputs}
        shapes, values = (
            {name: item for name, item in table.items() if name in input_names}
            for table in (shapes, values)
        )
        dims = {name: size for name, size in dims.items() if name in open_size_names(model)}
        sizes_used = {
            *map(size_name, open_size_names(model)),
            *map(str, dims.values()),
            *(str(size) for shape in shapes.values() for size in shape),
        }
        samples = {name: size for name, size in samples.items() if name in sizes_used}
    table = input_table(model, dims, shapes, values, samples)
    fixed = fixed_values(model, {name: shape for name, (_, shape) in table.items()}, values)
    free = {name: item for name, item in table.items() if name not in fixed}
    return SampledInputs(
        _with_strings(model, free),
        fixed,
        size_values(model, free, samples),
        words={text["input"]: (text["tokens"], True) for text in model.strings},
    )


def _with_strings(model: NodeModel, inputs: Inputs) -> Inputs:
    """The inputs with strings in place of their indices."""
    result = dict(inputs)
    for text in model.strings:
        shape = result.pop(text["tensor"])[1]
        if text["list"]:
            shape = (*shape[:-1], SAMPLE_SIZE)
        elif text["length"] is not None:
            shape = shape[:-1]
        result.setdefault(text["input"], (STRING, shape))
    return result
