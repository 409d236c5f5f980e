"""Linear layers of bitsandbytes in modules that a function returns."""

import torch
from torch import nn

from webkiln.errors import SourceError
from webkiln.frontends.torch.block_weights import BlockWeights
from webkiln.frontends.torch.quantization_config import QuantizationConfig
from webkiln.frontends.torch.quantized_layouts import WEIGHT, decoded, joined


def plain_linears(module: nn.Module, where: str) -> tuple[nn.Module, dict[str, BlockWeights]]:
    """The module with an nn.Linear in place of each subclass of it whose weight is quantized, as
    Linear4bit and Linear8bitLt are, and these weights by their names in it. Its products are those
    of the dequantised weight in float32.

    Raises SourceError if a layout is not understood.
    """
    stored: dict[str, BlockWeights] = {}
    for path, child in [*module.named_modules()]:
        if not isinstance(child, nn.Linear) or type(child) is nn.Linear:
            continue
        state = {key: item.detach() for key, item in child.state_dict().items()}
        named = f"{where}: {path or type(child).__name__}"
        rest, found = decoded(state, QuantizationConfig(), named)
        if WEIGHT not in found:
            continue
        linear = _linear(child, rest, named)
        stored[joined(path, WEIGHT)] = found[WEIGHT]
        if path:
            parent, _, leaf = path.rpartition(".")
            setattr(module.get_submodule(parent), leaf, linear)
        else:
            module = linear
    return module, stored


def _linear(layer: nn.Linear, state: dict[str, torch.Tensor], where: str) -> nn.Linear:
    linear = nn.Linear(layer.in_features, layer.out_features, bias="bias" in state)
    expected = {name: tuple(item.shape) for name, item in linear.state_dict().items()}
    given = {name: tuple(item.shape) for name, item in state.items()}
    if expected != given:
        raise SourceError(f"{where}: its tensors are {given}, expected {expected}")
    linear.load_state_dict({name: item.float() for name, item in state.items()})
    return linear
