"""Layers that multiply by a matrix, or look up its rows."""

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.activations import activate
from webkiln.frontends.keras.policies import storable
from webkiln.ir.axis import OrderC
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.einsum import einsum


def dense(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    weight = layer.weight("kernel")
    if len(weight.shape) != 2 or x.type.rank < 2 or x.shape[-1] != weight.shape[0]:
        raise layer.error(
            f"the kernel is {list(weight.shape)}, x is {list(x.shape)}; x needs {weight.shape[0]}"
            " features on its last axis"
        )
    layer.check_config(units=weight.shape[1])
    b = converter.builder
    y = b.op("MatMul", [x, adapted(converter, layer, "kernel")], order=x.order)
    if layer.config.get("use_bias", True):
        y = b.op("Add", [y, bias_of(converter, layer, weight.shape[1])])
    converter.set_variable(converter.get_output_tensor(layer)[0], activate(b, layer, y))


def einsum_dense(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    b = converter.builder
    y = einsum(b, [x, adapted(converter, layer, "kernel")], str(layer.config["equation"]))
    if layer.config.get("bias_axes"):
        y = b.op("Add", [y, converter.convert_to_constant_variable(layer.weight("bias"))])
    converter.set_variable(converter.get_output_tensor(layer)[0], activate(b, layer, y))


def embedding(converter: Converter, layer: Layer) -> None:
    """Look up rows of a matrix."""
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    weight = layer.weight("embeddings")
    layer.check_config(input_dim=weight.shape[0], output_dim=weight.shape[1])
    b = converter.builder
    numbers = x if x.dtype == "int32" else b.op("Cast", [x], {"dtype": "int32"})
    y = b.op(
        "Gather",
        [adapted(converter, layer, "embeddings"), numbers],
        {"axis": 0},
        converter.order(x.type.rank + 1),
    )
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def reversible_embedding(converter: Converter, layer: Layer) -> None:
    """An embedding or, if called with `reverse=True`, the scores of all rows."""
    if not layer.arguments.kwargs.get("reverse", False):
        embedding(converter, layer)
        return
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    b, tied = converter.builder, layer.config.get("tie_weights", True)
    weight = adapted(converter, layer, "embeddings" if tied else "reverse_embeddings")
    if layer.config.get("reverse_dtype"):
        x, weight = (
            converter.cast(operand, storable(str(layer.config["reverse_dtype"])))
            for operand in (x, weight)
        )
    y = b.op("MatMul", [x, weight], {"transpose_b": tied}, x.order)
    cap = layer.config.get("logit_soft_cap")
    converter.set_variable(
        converter.get_output_tensor(layer)[0], y if cap is None else b.op("Tanh", [y / cap]) * cap
    )


def adapted(converter: Converter, layer: Layer, name: str) -> Tensor:
    """A weight with its low-rank adapters, if it has any (LoRA, Hu et al. 2021): W + alpha / rank *
    A B.
    """
    weight = converter.convert_to_constant_variable(layer.weight(name))
    names = [f"lora_{name}_{factor}" for factor in "ab"]
    if not any(factor in layer.weights for factor in names):
        return weight
    a, b = (layer.weight(factor) for factor in names)
    if (*a.shape[:-1], b.shape[-1]) != weight.shape or a.shape[-1] != b.shape[0]:
        raise layer.error(
            f"the adapters of {name} are {list(a.shape)} and {list(b.shape)}, {name} is"
            f" {list(weight.shape)}"
        )
    rank = layer.config.get("lora_rank") or b.shape[0]
    product = converter.builder.op(
        "MatMul", [converter.convert_to_constant_variable(factor) for factor in (a, b)]
    )
    return weight + product * ((layer.config.get("lora_alpha") or rank) / rank)


def bias_of(converter: Converter, layer: Layer, features: Size) -> Tensor:
    weight = layer.weight("bias")
    if weight.shape != (features,):
        raise layer.error(
            f"the bias is {list(weight.shape)}, the kernel has {features} output features"
        )
    return converter.convert_to_constant_variable(weight, OrderC)
