"""Random weights for PyTorch networks under which outputs depend on the input, and float32
distinguishes the results of extreme inputs.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from webkiln.random_inputs import make_inputs

LARGEST_OF_GATES = 4.0


def settle_statistics(
    model: nn.Module, shape: tuple[int, ...], gates: Iterable[nn.Module] = ()
) -> nn.Module:
    """Set the statistics of normalisations from some images of a shape, and redraw parameters that
    are initially near 0.

    Images contain bytes. No channel varies less than the average of its layer. The outputs of
    `gates`, which are squashed afterwards, are limited to LARGEST_OF_GATES.
    """
    for parameter in model.parameters():
        if parameter.abs().max() < 1e-3 and parameter.dim() > 0:
            nn.init.normal_(parameter, std=0.05)
    norms = [
        layer for layer in model.modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm)
    ]
    for layer in model.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    for norm in norms:
        norm.momentum = None
    with torch.no_grad():
        model.train()
        for seed in range(2):
            model(255 * torch.rand(shape, generator=torch.Generator().manual_seed(seed)))
        for norm in norms:
            norm.running_var.clamp_(min=float(norm.running_var.mean()))
        model.eval()
        hooks = [gate.register_forward_hook(shrink) for gate in gates]
        model(torch.from_numpy(make_inputs({"image": ("float32", shape)})["extreme"]["image"]))
    for hook in hooks:
        hook.remove()
    return model


def shrink(layer: nn.Module, inputs: tuple[Tensor, ...], result: Tensor) -> Tensor:
    """Scale the weights of a layer down if its output exceeds LARGEST_OF_GATES."""
    factor = min(1.0, LARGEST_OF_GATES / float(result.abs().max()))
    for parameter in layer.parameters():
        parameter.mul_(factor)
    return result * factor
