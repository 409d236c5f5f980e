"""The interface of converter handlers: the layer, and the converter's methods."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from webkiln.errors import SourceError, UserError
from webkiln.frontends.core.arrays import Weight
from webkiln.frontends.core.call import Call
from webkiln.frontends.keras.spec import LayerCall, LayerSpec, Ref

if TYPE_CHECKING:
    from webkiln.ir.axis import Order
    from webkiln.ir.types import Array
    from webkiln.ops.builder import GraphBuilder, Tensor
    from webkiln.ops.control_flow import StepFunction


class LayerAttributeError(UserError, AttributeError):
    """A handler requested a weight or config value that the layer does not have."""


class Layer(Call):
    """One call of a layer: `name`, `class_name`, `config`, and its weights and config values as
    attributes (`layer.bias`, `layer.units`).

    `path` is the name, preceded by those of outer models, as in messages and slots.
    """

    def __init__(self, path: str, spec: LayerSpec, call: int) -> None:
        self._path = path
        self.spec = spec
        self.call = call

    @property
    def path(self) -> str:
        return self._path

    @property
    def operator(self) -> str:
        return self.spec.class_name

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def class_name(self) -> str:
        return self.spec.class_name

    @property
    def config(self) -> Mapping[str, Any]:
        return self.spec.config

    @property
    def weights(self) -> Mapping[str, Weight]:
        return self.spec.weights

    @property
    def arguments(self) -> LayerCall:
        """The arguments of this call. Tensors are references for `get_variable`."""
        return self.spec.calls[self.call]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        spec = self.spec
        if name in spec.weights:
            return spec.weights[name]
        if name in spec.config:
            return spec.config[name]
        raise LayerAttributeError(
            f"{self.path} ({spec.class_name}) has no weight or config value {name!r}; weights:"
            f" {', '.join(spec.weights) or 'none'}; config: {', '.join(spec.config) or 'none'}"
        )

    def attr(self, name: str, default: Any = None) -> Any:
        return self.spec.config.get(name, default)

    def weight(self, name: str) -> Weight:
        """The weight `name`. Raises SourceError if the file does not have it."""
        if name not in self.weights:
            raise SourceError(
                f"{self.path} ({self.class_name}): the file has no weight {name!r}, only"
                f" {', '.join(self.weights) or 'none'}; save the model again with model.save()"
            )
        return self.weights[name]

    def check_config(self, **weights: Any) -> None:
        """Raise an error if a config value contradicts the weights."""
        for name, expected in weights.items():
            value = self.config.get(name, expected)
            value = tuple(value) if isinstance(value, list) else value
            if isinstance(value, bool) or value != expected:
                raise self.error(
                    f"the config has {name}={value!r}, the weights have {expected!r}; the file is"
                    " damaged, save the model again"
                )


class Converter(Protocol):
    """The converter's methods for handlers. `builder` adds operators to the graph or, during
    `scan`, to the step's graph.
    """

    builder: "GraphBuilder"

    def get_input_tensor(self, layer: Layer) -> list[Ref]: ...

    def get_output_tensor(self, layer: Layer) -> list[Ref]: ...

    def get_variable(self, tensor: Ref) -> "Tensor": ...

    def set_variable(self, tensor: Ref, variable: "Tensor") -> None: ...

    def has_variable(self, tensor: Ref) -> bool: ...

    def convert_to_constant_variable(
        self, weight: "Weight | Array | float", order: "Order | None" = None
    ) -> "Tensor": ...

    def cast(self, tensor: "Tensor", dtype: str) -> "Tensor": ...

    def apply(self, part: LayerSpec, scope: str, inputs: "Sequence[Tensor]") -> "list[Tensor]": ...

    def scan(
        self,
        states: "Sequence[Tensor]",
        sequences: "Sequence[Tensor]",
        step: "StepFunction",
        *,
        reverse: bool = False,
    ) -> "tuple[list[Tensor], list[Tensor]]": ...

    def state(self, name: str, initial: "Tensor") -> "Tensor": ...

    def set_state(self, name: str, value: "Tensor") -> None: ...

    def order(self, rank: int) -> "Order | None": ...


LayerHandler = Callable[[Converter, Layer], None]
