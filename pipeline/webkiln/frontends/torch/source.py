"""The exported program of a source: a .pt2 file, or TorchScript and modules exported with
torch.export.
"""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch._export.utils import _get_shape_env_from_gm

from webkiln.errors import SourceError, UndecidedError
from webkiln.frontends.nodes.sizes import Shapes
from webkiln.frontends.torch import coded_modules
from webkiln.frontends.torch.archive import check_archive
from webkiln.frontends.torch.format import SCRIPT
from webkiln.frontends.torch.recurrences import PACKED, kept_recurrences, packs
from webkiln.frontends.torch.script import ScriptProgram
from webkiln.frontends.torch.script_arguments import Arguments
from webkiln.frontends.torch.script_run import Raised
from webkiln.frontends.torch.script_states import settle
from webkiln.frontends.torch.vision import declare_vision_operators
from webkiln.random_inputs import SAMPLE_SIZE

DATED = "byteorder"
"""A member that TorchScript files contain since torch 2.1."""
SAVE = (
    "save it with torch.export.save(torch.export.export(model.eval(), example_inputs), 'model.pt2')"
)


@dataclass(frozen=True)
class TracedProgram:
    """A program, the names of its inputs if it has none, and those of arguments that are no
    tensors.
    """

    program: torch.export.ExportedProgram
    inputs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


def program_of(
    path: Path, shapes: Shapes, values: Mapping[str, Any] | None = None, *, trust_source: bool
) -> TracedProgram:
    """The program in a file. `values` are those of arguments that are no tensors."""
    check_archive(path)
    if not is_script(path):
        return TracedProgram(read_exported(path))
    if not trust_source:
        raise UndecidedError(
            f"{path.name}: is a TorchScript file, which can run code; if you trust it, pass"
            f" --trust-source, or {SAVE}"
        )
    return script_exported(path, shapes, values)


def is_script(path: Path) -> bool:
    return _members(path) >= SCRIPT


def _members(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        return {member.rpartition("/")[2] for member in archive.namelist()}


def read_exported(path: Path) -> torch.export.ExportedProgram:
    declare_vision_operators(path)
    assert coded_modules.LIBRARY
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


def script_exported(
    path: Path, shapes: Shapes, values: Mapping[str, Any] | None = None
) -> TracedProgram:
    try:
        script = read_script(path)
        script.eval()
    except Exception as error:
        raise _unreadable(path, error) from None
    arguments = Arguments(script, shapes, values or {}, path.name)
    try:
        program = ScriptProgram(script, arguments, dated=DATED in _members(path)).eval()
    except Exception as error:
        raise _unreadable(path, error) from None

    def draw(size: int = SAMPLE_SIZE) -> tuple[Any, ...]:
        return examples(arguments.inputs, arguments.shapes, arguments.dtypes, path.name, size)

    inputs, dynamic = draw()
    with _traced(path.name):
        settle(program, lambda: draw()[0], lambda: draw(SAMPLE_SIZE + 1)[0])
    return TracedProgram(
        exported(program, inputs, [dynamic], path.name),
        tuple(arguments.inputs),
        tuple(arguments.settings),
    )


def _unreadable(path: Path, error: Exception) -> SourceError:
    return SourceError(
        f"{path.name}: torch {torch.__version__} cannot read it ({first_line(error)}); save it"
        " again"
    )


def examples(
    names: Sequence[str],
    shapes: Shapes,
    dtypes: Sequence[torch.dtype],
    where: str,
    sample: int = SAMPLE_SIZE,
) -> tuple[tuple[torch.Tensor, ...], tuple[Any, ...]]:
    """Inputs for tracing, and their dynamic axes. Dynamic sizes with the same name are equal,
    others differ; the first is `sample`.
    """
    sizes: dict[str, int] = {}
    inputs, dynamic = [], []
    for name, dtype in zip(names, dtypes, strict=True):
        shape = shapes.get(name, shapes.get("") if len(names) == 1 else None)
        if shape is None:
            unknown = [item for item in names if item not in shapes]
            options = " ".join(f"--input-shape {item}=1,3,224,224" for item in unknown)
            raise UndecidedError(
                f"{where}: the file does not record the shape of the input {', '.join(unknown)};"
                f" pass {options} (a name instead of a number is a size that is set at run time)"
            )
        whole = [
            size if isinstance(size, int) else sizes.setdefault(size, sample + 3 * len(sizes))
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
    with _traced(where), kept_recurrences():
        return torch.export.export(
            module,
            inputs,
            dynamic_shapes=dynamic if dynamic is not None and _is_dynamic(dynamic) else None,
        )


@contextmanager
def _traced(where: str) -> Iterator[None]:
    """Errors of a program that runs in the block."""
    try:
        yield
    except Raised as error:
        raise SourceError(
            f"{where}: does not accept these shapes: {error}; pass others with --input-shape"
        ) from None
    except SourceError as error:
        raise SourceError(f"{where}: {error}") from None
    except Exception as error:
        if packs(error):
            raise SourceError(f"{where}: {PACKED}") from None
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
