"""References that were recorded where the framework still runs: an `.npz` with inputs and the
outputs
that were computed of them.

Arrays are called as the inputs and outputs are, or `inputs/NAME` and `outputs/NAME`; of several
cases `CASE/inputs/NAME` and `CASE/outputs/NAME`. Nothing in the file is trusted: what is said of an
array is checked before its bytes are read, and a pickle is never loaded.
"""

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from webkiln import npz
from webkiln.errors import RecipeError, ShapeError, SourceError, did_you_mean
from webkiln.ir import dim, symbols
from webkiln.ir.graph import Graph
from webkiln.ir.guards import expand_quotients
from webkiln.ir.notation import size_from_json
from webkiln.ir.solve import solve
from webkiln.ir.types import Array
from webkiln.random_inputs import STRING

ONLY_CASE = "recorded"
"""What the one case of a file is called."""
MAX_BYTES = 2 << 30
MAX_ARRAYS = 10_000
CASE = re.compile(r"([\w.-]+)/(inputs|outputs)/(.+)", re.ASCII | re.DOTALL)
ROLES = ("inputs", "outputs")
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
)


@dataclass(frozen=True)
class RecordedArray:
    """What a file says of one array, before it is read."""

    key: str
    info: zipfile.ZipInfo
    header: npz.Header

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.header.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.header.shape


@dataclass(frozen=True)
class ModelEnds:
    """The inputs and outputs of a model: dtypes, and shapes with sizes that are set when it runs."""

    graph: Graph
    texts: Sequence[Mapping[str, Any]] = ()

    def of(self, role: str) -> dict[str, tuple[str, tuple[int, ...]]]:
        if role == "outputs":
            types = {
                name: self.graph.type(variable) for name, variable in self.graph.outputs.items()
            }
        else:
            types = {name: self.graph.type(name) for name in self.graph.inputs}
        found = {name: (type_.dtype, type_.shape) for name, type_ in types.items()}
        if role == "inputs":
            for text in self.texts:
                found.pop(text["tensor"], None)
            found |= {
                text["input"]: (STRING, tuple(map(size_from_json, text["shape"])))
                for text in self.texts
            }
        return found

    def shown(self, shape: Sequence[int]) -> str:
        return f"[{', '.join(dim.abbreviate(expand_quotients(size, self.graph.divisibility)) for size in shape)}]"


def recorded_arrays(path: Path, name: str, ends: ModelEnds) -> dict[str, Array]:
    """The arrays of reference.npz of a recorded reference, which messages call `name`. RecipeError
    lists all that does not fit the model.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            told = list(_told(archive, name))
            cases, wrong = _sorted(told, ends)
            for case, roles in cases.items():
                wrong += _objections(case, roles, ends)
            if wrong:
                raise RecipeError(
                    "\n  ".join(
                        [f"reference {name} does not fit the model:", *dict.fromkeys(wrong)]
                    )
                )
            arrays = {item.key: _read(archive, item) for item in told}
    except SourceError:
        raise
    except MemoryError:
        raise SourceError(f"reference {name}: is larger than the memory of this machine") from None
    except DAMAGED as error:
        what = " ".join(str(error).split())[:200] or type(error).__name__
        raise SourceError(
            f"reference {name}: is no .npz file of arrays ({what}); write it with numpy.savez"
        ) from None
    if wrong := [
        f"{item.key}: {problem}"
        for roles in cases.values()
        for role, found in roles.items()
        for item in found.values()
        if (problem := _strange(arrays[item.key], role)) is not None
    ]:
        raise RecipeError("\n  ".join([f"reference {name} does not serve to verify with:", *wrong]))
    reference: dict[str, Array] = {}
    for case, roles in cases.items():
        reference |= {f"{case}/in/{key}": arrays[item.key] for key, item in roles["inputs"].items()}
        reference |= {
            f"{case}/out/{key}": arrays[item.key] for key, item in roles["outputs"].items()
        }
        reference |= {f"{case}/noise/{key}": np.array(0.0) for key in roles["outputs"]}
    return reference


def _told(archive: zipfile.ZipFile, name: str) -> Iterator[RecordedArray]:
    """What the headers of the arrays say."""
    infos = archive.infolist()
    if len(infos) > MAX_ARRAYS:
        raise SourceError(
            f"reference {name}: holds {len(infos)} arrays, expected at most {MAX_ARRAYS}"
        )
    if (total := sum(info.file_size for info in infos)) > MAX_BYTES:
        raise SourceError(
            f"reference {name}: says that it unpacks to {total} bytes, expected at most {MAX_BYTES}"
        )
    seen = set[str]()
    for info in infos:
        key = npz.array_name(info.filename)
        if key in seen:
            raise SourceError(
                f"reference {name}: holds two arrays {key!r}; write it with numpy.savez"
            )
        seen.add(key)
        told, follow = (
            (header := npz.read_header(archive, info)).bytes,
            info.file_size - header.start,
        )
        if header.dtype.hasobject:
            raise SourceError(
                f"reference {name}: {key} is a pickle of Python objects, which is never loaded;"
                " save an array of numbers"
            )
        if told != follow:
            raise SourceError(
                f"reference {name}: {key} is {header.dtype}{list(header.shape)} of {told} bytes,"
                f" and {follow} follow"
            )
        yield RecordedArray(key, info, header)


def _read(archive: zipfile.ZipFile, item: RecordedArray) -> Array:
    array = npz.read_elements(archive, item.info, item.header)
    return np.array(array, item.dtype.newbyteorder("="), order="C").reshape(item.shape)


Cases = dict[str, dict[str, dict[str, RecordedArray]]]
"""By case, role and the name of the input or output."""


def _sorted(told: Sequence[RecordedArray], ends: ModelEnds) -> tuple[Cases, list[str]]:
    """Which array is which input or output of which case, and what is wrong with the names of
    others.
    """
    known = {role: ends.of(role) for role in ROLES}
    cases: Cases = {}
    wrong: list[str] = []
    for item in told:
        place = _place(item.key, known)
        if isinstance(place, str):
            wrong.append(place)
            continue
        case, role, name = place
        roles = cases.setdefault(case, {role: {} for role in ROLES})
        if name in roles[role]:
            wrong.append(
                f"{item.key}: {role[:-1]} {name} is there twice, also as {roles[role][name].key}"
            )
        roles[role][name] = item
    if not cases and not wrong:
        wrong.append("it holds no arrays")
    return cases, wrong


def _place(key: str, known: Mapping[str, Mapping[str, Any]]) -> tuple[str, str, str] | str:
    """The case, role and name that a key says, or what is wrong with it."""
    role, _, rest = key.partition("/")
    if role in ROLES and rest in known[role]:
        return ONLY_CASE, role, rest
    owners = [role for role in ROLES if key in known[role]]
    if len(owners) == 1:
        return ONLY_CASE, owners[0], key
    if owners:
        return (
            f"{key}: is both an input and an output; call the arrays inputs/{key} and outputs/{key}"
        )
    if (found := CASE.fullmatch(key)) is not None and found[3] in known[found[2]]:
        return found[1], found[2], found[3]
    names = [*known["inputs"], *known["outputs"]]
    listed = "; ".join(f"{role} are {', '.join(known[role]) or 'none'}" for role in ROLES)
    return (
        f"{key}: the model has no such input or output{did_you_mean(key.rpartition('/')[2], names)};"
        f" {listed}"
    )


def _objections(
    case: str, roles: Mapping[str, Mapping[str, RecordedArray]], ends: ModelEnds
) -> list[str]:
    """What is missing in a case, and the dtypes and shapes that do not fit."""
    prefix = "" if case == ONLY_CASE else f"{case}: "
    wrong, sizes = [], dict[str, int]()
    for role in ROLES:
        for name, (dtype, shape) in ends.of(role).items():
            item = roles[role].get(name)
            if item is None:
                wrong.append(f"{prefix}{role[:-1]} {name} is missing")
                continue
            if _is_other(item.dtype, dtype):
                advice = (
                    ""
                    if STRING in (dtype, item.dtype.name) or item.dtype.kind == "U"
                    else f"; save it with .astype({dtype!r})"
                )
                wrong.append(f"{item.key}: is {item.dtype}, expected {dtype}{advice}")
            if not _fits(shape, item.shape, sizes, exact=role == "inputs"):
                values = ", ".join(f"{name} = {size}" for name, size in sizes.items())
                wrong.append(
                    f"{item.key}: is {list(item.shape)}, expected"
                    f" {ends.shown(shape)}{values and f' with {values}'}"
                )
    return wrong


def _is_other(got: np.dtype[Any], wanted: str) -> bool:
    return got.kind != "U" if wanted == STRING else got.newbyteorder("=") != np.dtype(wanted)


def _fits(
    declared: Sequence[int], shape: Sequence[int], sizes: dict[str, int], *, exact: bool
) -> bool:
    """Whether a shape is the declared one for some sizes, which are kept. An output's may be what
    only the run finds out.
    """
    if len(declared) != len(shape):
        return False
    for size, number in zip(declared, shape, strict=True):
        left = symbols.names([size]) - sizes.keys()
        if not exact and left:
            continue
        try:
            solve([size], [number], sizes)
        except (ShapeError, KeyError):
            return False
    return True


def _strange(array: Array, role: str) -> str | None:
    """Why numbers cannot be given to a model, or compared with."""
    if array.dtype.kind != "f":
        return None
    if role == "outputs":
        count = int(np.isnan(array).sum())
        return (
            f"holds {count} NaN, which nothing can be compared with; record other inputs"
            if count
            else None
        )
    count = int((~np.isfinite(array)).sum())
    return f"holds {count} numbers that are not finite; record other inputs" if count else None
