"""Sparse initialisers and constants as dense ones."""

from copy import deepcopy
from math import prod
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import check_allowance
from webkiln.frontends.onnx.graphs import all_graphs, normalise_domain
from webkiln.frontends.onnx.tensors import read_array
from webkiln.ir.types import Array


def dense_model(model: onnx.ModelProto, name: str, folder: Path | None) -> onnx.ModelProto:
    """The model with dense arrays in place of sparse initialisers and constants. Raise SourceError
    for indices out of range.
    """
    if not any(_has_sparse(graph) for graph in (*all_graphs(model), *model.functions)):
        return model
    result = deepcopy(model)
    for graph in (*all_graphs(result), *result.functions):
        _make_dense(graph, name, folder)
    return result


def _has_sparse(part: onnx.GraphProto | onnx.FunctionProto) -> bool:
    return bool(isinstance(part, onnx.GraphProto) and part.sparse_initializer) or any(
        item.HasField("sparse_tensor") for node in part.node for item in node.attribute
    )


def _make_dense(part: onnx.GraphProto | onnx.FunctionProto, name: str, folder: Path | None) -> None:
    if isinstance(part, onnx.GraphProto):
        for item in part.sparse_initializer:
            where = f"{name}: initialiser {item.values.name}"
            dense = numpy_helper.from_array(_dense(item, folder, where), item.values.name)
            part.initializer.append(dense)
        del part.sparse_initializer[:]
    for node in part.node:
        _make_constant_dense(node, name, folder)


def _make_constant_dense(node: onnx.NodeProto, name: str, folder: Path | None) -> None:
    if node.op_type != "Constant" or normalise_domain(node.domain) != "":
        return
    for item in node.attribute:
        if item.name == "sparse_value":
            where = f"{name}: constant {node.name or next(iter(node.output), '')}"
            array = _dense(item.sparse_tensor, folder, where)
            item.CopyFrom(onnx.helper.make_attribute("value", numpy_helper.from_array(array)))


def _dense(sparse: onnx.SparseTensorProto, folder: Path | None, where: str) -> Array:
    """The dense array. Indices are positions in row-major order, [n], or coordinates, [n, rank]."""
    shape = tuple(sparse.dims)
    values = read_array(sparse.values, folder, where)
    indices = read_array(sparse.indices, folder, where).astype(np.int64)
    if any(size < 0 for size in shape) or indices.shape not in (
        (values.size,),
        (values.size, len(shape)),
    ):
        raise SourceError(
            f"{where}: its shape is {list(shape)}, it has {values.size} values and indices of shape"
            f" {list(indices.shape)}; the file is damaged"
        )
    check_allowance(prod(shape) * values.itemsize, where)
    limits = np.array(shape if indices.ndim == 2 else (prod(shape),), np.int64)
    if np.any(indices < 0) or np.any(indices >= limits):
        raise SourceError(f"{where}: an index is outside of the shape {list(shape)}")
    dense = np.zeros(prod(shape), values.dtype)
    flat = np.ravel_multi_index(tuple(indices.T), shape) if indices.ndim == 2 else indices
    dense[flat] = values.ravel()
    return dense.reshape(shape)
