"""The exported program of a source: a .pt2 file, or TorchScript and modules exported with
torch.export.
"""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch._export.utils import _get_shape_env_from_gm

from webkiln.errors import SourceError, UndecidedError
from webkiln.frontends.nodes.sizes import Shapes
from webkiln.frontends.torch.archive import check_archive
from webkiln.frontends.torch.format import SCRIPT
from webkiln.frontends.torch.script import ScriptProgram
from webkiln.frontends.torch.script_run import Raised
from webkiln.frontends.torch.vision import declare_vision_operators
from webkiln.random_inputs import SAMPLE_SIZE

INTEGER_READERS = {"aten::embedding": 1, "aten::one_hot": 0, "aten::embedding_bag": 1}
"""Operators with integer operands, and their positions."""
DATED = "byteorder"
"""A member that TorchScript files contain since torch 2.1."""
SAVE = (
    "save it with torch.export.save(torch.export.export(model.eval(), example_inputs), 'model.pt2')"
)


@dataclass(frozen=True)
class TracedProgram:
    """A program, and the names of its inputs if it has none."""

    program: torch.export.ExportedProgram
    inputs: tuple[str, ...] = ()


def program_of(path: Path, shapes: Shapes, *, trust_source: bool) -> TracedProgram:
    """The program in a file."""
    check_archive(path)
    if not is_script(path):
        return TracedProgram(read_exported(path))
    if not trust_source:
        raise UndecidedError(
            f"{path.name}: is a TorchScript file, which can run code; if you trust it, pass"
            f" --trust-source, or {SAVE}"
        )
    return script_exported(path, shapes)


def is_script(path: Path) -> bool:
    return _members(path) >= SCRIPT


def _members(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        return {member.rpartition("/")[2] for member in archive.namelist()}


def read_exported(path: Path) -> torch.export.ExportedProgram:
    declare_vision_operators(path)
    try:
        with path.open("rb") as file:
            program = torch.export.load(file)
        _forget_ranges(program)
    except Exception as error:
        raise SourceError(
            f"{path.name}: torch {torch.__version__} cannot read the program ({first_line(error)});"
            f" {SAVE} with this version"
        ) from None
    return program


def _forget_ranges(program: torch.export.ExportedProgram) -> None:
    """Ranges of computed sizes. torch's reader stores them with those of symbols, and its
    decompositions then fail on `2*s0`.
    """
    sizes = _get_shape_env_from_gm(program.graph_module)
    for size in (
        [] if sizes is None else [size for size in sizes.var_to_range if not size.is_symbol]
    ):
        del sizes.var_to_range[size]


def read_script(path: Path) -> torch.jit.ScriptModule:
    declare_vision_operators(path)
    return torch.jit.load(str(path), map_location="cpu")


def script_exported(path: Path, shapes: Shapes) -> TracedProgram:
    try:
        script = read_script(path)
        script.eval()
        program = ScriptProgram(script, dated=DATED in _members(path)).eval()
    except Exception as error:
        raise SourceError(
            f"{path.name}: torch {torch.__version__} cannot read it ({first_line(error)}); save it"
            " again"
        ) from None
    graph = program.graph[0]
    arguments = [
        value
        for value in list(graph.inputs())[1:]
        if value.type().kind() in ("TensorType", "OptionalType")
    ]
    tensors = [value for value in arguments if value.type().kind() == "TensorType"]
    names = [value.debugName().rpartition(".")[0] or value.debugName() for value in tensors]
    dtypes = [_dtype(value) for value in tensors]
    inputs, dynamic = examples(names, shapes, dtypes, path.name)
    return TracedProgram(exported(program, inputs, [dynamic], path.name), tuple(names))


def _dtype(value: Any) -> torch.dtype:
    """The dtype of an input, by its type or by its readers."""
    dtype = value.type().dtype() if value.type().kind() == "TensorType" else None
    if dtype is not None:
        return dtype
    for use in value.uses():
        kind = use.user.kind()
        if INTEGER_READERS.get(kind, -1) == use.offset:
            return torch.int64
    return torch.float32


def examples(
    names: Sequence[str], shapes: Shapes, dtypes: Sequence[torch.dtype], where: str
) -> tuple[tuple[torch.Tensor, ...], tuple[Any, ...]]:
    """Inputs for tracing, and their dynamic axes. Dynamic sizes with the same name are equal,
    others differ.
    """
    sizes: dict[str, int] = {}
    inputs, dynamic = [], []
    for name, dtype in zip(names, dtypes, strict=True):
        shape = shapes.get(name, shapes.get("") if len(names) == 1 else None)
        if shape is None:
            raise UndecidedError(
                f"{where}: the file does not record the shape of the input {name}; pass"
                f" --input-shape {name}=1,3,224,224 (a name instead of a number is a size that"
                " is set at run time)"
            )
        whole = [
            size if isinstance(size, int) else sizes.setdefault(size, SAMPLE_SIZE + 3 * len(sizes))
            for size in shape
        ]
        inputs.append(
            torch.rand(whole) if dtype.is_floating_point else torch.zeros(whole, dtype=dtype)
        )
        dynamic.append(
            {
                axis: torch.export.Dim.DYNAMIC
                for axis, size in enumerate(shape)
                if isinstance(size, str)
            }
        )
    return tuple(inputs), tuple(dynamic)


def exported(
    module: torch.nn.Module, inputs: tuple[Any, ...], dynamic: Any, where: str
) -> torch.export.ExportedProgram:
    """Export a module as a program."""
    try:
        return torch.export.export(
            module,
            inputs,
            dynamic_shapes=dynamic if dynamic is not None and _is_dynamic(dynamic) else None,
        )
    except Raised as error:
        raise SourceError(
            f"{where}: does not accept these shapes: {error}; pass others with --input-shape"
        ) from None
    except SourceError as error:
        raise SourceError(f"{where}: {error}") from None
    except Exception as error:
        raise SourceError(f"{where}: torch.export cannot trace it: {first_line(error)}") from None


def _is_dynamic(dynamic: Any) -> bool:
    items = (
        dynamic.values()
        if isinstance(dynamic, Mapping)
        else dynamic
        if isinstance(dynamic, list | tuple)
        else ()
    )
    return (
        any(_is_dynamic(item) for item in items)
        or bool(dynamic and not isinstance(dynamic, Mapping | list | tuple))
        if items
        else bool(dynamic)
    )


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__
