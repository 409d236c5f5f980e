"""Conversion of modules, and their outputs in torch."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from tests.frontends.corpus import Sample
from tests.frontends.torch.cases import ModuleCase
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.labels import output_names
from webkiln.frontends.torch.program import read_program

SEED = 7


def build(case: ModuleCase) -> torch.nn.Module:
    torch.manual_seed(SEED)
    return case.make().eval()


def exported(case: ModuleCase) -> torch.export.ExportedProgram:
    """Export the module. Dynamic sizes of different inputs are independent."""
    shapes = tuple(
        dict.fromkeys(case.sizes.get(position, {}), torch.export.Dim.DYNAMIC)
        for position in range(len(case.inputs))
    )
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        module = build(case)
        if any(shapes):
            forward = module.forward
            star = isinstance(module, torch.nn.Module) and forward.__code__.co_flags & 4
            return torch.export.export(
                module, case.inputs, dynamic_shapes=(shapes,) if star else shapes
            )
        return torch.export.export(module, case.inputs)


def at_other_sizes(case: ModuleCase) -> tuple[torch.Tensor, ...]:
    """The inputs at the second sizes."""
    inputs = []
    for position, x in enumerate(case.inputs):
        sizes = [case.sizes.get(position, {}).get(axis, size) for axis, size in enumerate(x.shape)]
        inputs.append(
            torch.resize_as_(x.new_empty(0), x.new_empty(sizes)).copy_(torch.rand(sizes))
            if x.is_floating_point()
            else torch.ones(sizes, dtype=x.dtype)
        )
    return tuple(inputs)


def sample(
    name: str,
    case: ModuleCase,
    program: torch.export.ExportedProgram,
    inputs: tuple[torch.Tensor, ...],
) -> Sample:
    spec, blobs = read_program(program, name)
    graph = TorchConverter().convert(spec, blobs)
    with torch.no_grad():
        results = build(case)(*(x.clone() for x in inputs))
    return Sample(
        name, graph, input_arrays(spec, inputs), output_arrays(program, results), case.tolerance
    )


def input_arrays(spec: Any, inputs: tuple[torch.Tensor, ...]) -> Mapping[str, np.ndarray]:
    return {item.name: x.numpy() for item, x in zip(spec.graph.inputs, inputs, strict=True)}


def output_arrays(program: torch.export.ExportedProgram, results: Any) -> Mapping[str, np.ndarray]:
    return {
        name: value.detach().numpy()
        for name, value in zip(output_names(program), pytree.tree_leaves(results), strict=True)
    }
