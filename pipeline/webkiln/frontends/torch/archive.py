"""Check zip archives of PyTorch before torch reads them: members, sizes, and that they contain no
code.
"""

import json
import re
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.nodes.spec import MAX_BYTES

MOST_MEMBERS = 1 << 17
LARGEST_JSON = 1 << 30
DEEPEST = 60
EXPRESSION = re.compile(r"[\w\s+\-*/(),<>=!&|~.%]*")
"""The grammar of sizes in exported programs: names, numbers, operators and function calls."""
FUNCTIONS = frozenset(
    {
        "Max",
        "Min",
        "FloorDiv",
        "Mod",
        "PythonMod",
        "CleanDiv",
        "CeilDiv",
        "CeilToInt",
        "FloorToInt",
        "TruncToInt",
        "RoundToInt",
        "IntTrueDiv",
        "FloatTrueDiv",
        "ToFloat",
        "Identity",
        "Ne",
        "Eq",
        "Lt",
        "Le",
        "Gt",
        "Ge",
        "And",
        "Or",
        "Not",
        "Pow",
        "PowByNatural",
        "FloatPow",
        "Abs",
        "Where",
        "Piecewise",
        "ModularIndexing",
        "TruncToFloat",
        "RoundDecimal",
        "Mul",
        "Add",
        "Integer",
        "GreaterThan",
        "LessThan",
        "StrictGreaterThan",
        "StrictLessThan",
        "Equality",
        "Unequality",
        "OpaqueUnaryFn_sqrt",
        "OpaqueUnaryFn_log2",
        "floor",
        "ceiling",
        "sqrt",
        "oo",
        "int_oo",
    }
)
DECLARED = re.compile(r"Symbol\('(\w+)'((, (positive|nonnegative|integer)=(True|False))*)\)")
SYMBOL = re.compile(r"[suz]\d+|zuf\d+|zf\d+|u\d+|True|False|nan|oo|zoo|int_oo")
WORD = re.compile(r"[A-Za-z_]\w*")


def check_archive(path: Path) -> None:
    """Raise SourceError if an archive is damaged, or has members that are neither weights nor
    descriptions.
    """
    name = path.name
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            _check_members(infos, path)
            if any(PurePosixPath(info.filename).name == "archive_format" for info in infos):
                _check_program(archive, infos, name)
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        OSError,
        ValueError,
        RecursionError,
        NotImplementedError,
        RuntimeError,
        EOFError,
        KeyError,
    ) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            f"{name}: the archive is damaged ({error}); save the model again"
        ) from None


def _check_members(infos: list[zipfile.ZipInfo], path: Path) -> None:
    name, members = path.name, set[str]()
    if len(infos) > MOST_MEMBERS:
        raise SourceError(f"{name}: has {len(infos)} members, expected at most {MOST_MEMBERS}")
    total = 0
    for info in infos:
        parts = PurePosixPath(info.filename.replace("\\", "/"))
        if (
            parts.is_absolute()
            or ".." in parts.parts
            or ":" in info.filename
            or "\0" in info.filename
        ):
            raise SourceError(f"{name}: its member {info.filename!r} is outside of the archive")
        if info.filename in members:
            raise SourceError(f"{name}: has two members named {info.filename!r}")
        members.add(info.filename)
        total += info.file_size
        if info.compress_type != zipfile.ZIP_STORED and info.file_size > 1000 * max(
            info.compress_size, 1 << 10
        ):
            raise SourceError(
                f"{name}: its member {info.filename!r} has an unpacked size of {info.file_size}"
                " bytes in its header; the file is damaged"
            )
        if info.compress_type == zipfile.ZIP_STORED and info.file_size != info.compress_size:
            raise SourceError(
                f"{name}: its member {info.filename!r} has another size than in its header; the"
                " file is damaged"
            )
    if total > MAX_BYTES:
        raise SourceError(f"{name}: has {total} bytes unpacked, expected at most {MAX_BYTES}")


def _check_program(archive: zipfile.ZipFile, infos: list[zipfile.ZipInfo], name: str) -> None:
    """Check an exported program: one model, weights as plain bytes, sizes in torch's grammar."""
    models = [
        info for info in infos if "/models/" in info.filename and info.filename.endswith(".json")
    ]
    if len(models) != 1:
        raise SourceError(
            f"{name}: contains {len(models)} programs, expected one; save one with"
            " torch.export.save"
        )
    if any("/aotinductor/" in info.filename for info in infos):
        raise SourceError(
            f"{name}: contains compiled code; save the program itself with torch.export.save"
        )
    for info in infos:
        if info.filename.endswith(".json"):
            if info.file_size > LARGEST_JSON:
                raise SourceError(
                    f"{name}: {info.filename} has {info.file_size} bytes, expected at most"
                    f" {LARGEST_JSON}"
                )
            _check_json(json.loads(archive.read(info)), name, info.filename)


def _check_json(data: Any, where: str, member: str) -> None:
    """Raise SourceError if JSON is nested so deeply that torch would exceed the recursion limit, or
    has sizes outside of torch's grammar.
    """
    todo: list[tuple[Any, int]] = [(data, 0)]
    while todo:
        item, depth = todo.pop()
        if depth > DEEPEST:
            raise SourceError(
                f"{where}: {member} is nested more than {DEEPEST} deep; the file is damaged"
            )
        if isinstance(item, dict):
            if item.get("use_pickle") is True:
                raise SourceError(
                    f"{where}: {member} names a pickle ({item.get('path_name')!r}), which could"
                    " run code and is not loaded; save the model with plain weights"
                )
            expression = item.get("expr_str")
            if expression is not None and not _is_size(expression):
                raise SourceError(
                    f"{where}: {member} has the size {str(expression)[:80]!r}, which torch does not"
                    " write; the file is damaged"
                )
            todo += [(value, depth + 1) for value in item.values()]
        elif isinstance(item, list):
            todo += [(value, depth + 1) for value in item]


def _is_size(text: Any) -> bool:
    if not isinstance(text, str) or len(text) > 10000:
        return False
    text = DECLARED.sub(r"\1", text)
    if (
        not EXPRESSION.fullmatch(text)
        or "__" in text
        or re.search(r"[A-Za-z_)]\s*\.", text) is not None
    ):
        return False
    return all(word in FUNCTIONS or SYMBOL.fullmatch(word) for word in WORD.findall(text))
