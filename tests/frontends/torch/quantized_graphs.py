"""Graphs of programs with quantised weights, and what their bundles store."""

from math import prod

import torch

from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.program import read_program
from webkiln.ir.types import itemsize
from webkiln.weights.shards import stored

MOST = 1.05
"""The bytes of a bundle, relative to those of the file."""


def converted(program: torch.export.ExportedProgram):
    spec, blobs = read_program(program, "made.pt2")
    return TorchConverter().convert(spec, blobs)


def sizes(graph) -> dict[str, int]:
    return {item.name: prod(item.shape) * itemsize(item.dtype) for item in stored(graph)}
