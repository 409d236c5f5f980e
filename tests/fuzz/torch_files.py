"""Mutated torch.export programs and TorchScript files: accepted files are readable, and nothing
ends in a traceback.
"""

import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch

from tests.frontends.torch.modules.table import MODULES
from tests.frontends.torch.running import exported
from tests.fuzz import files, torch_scripts
from tests.fuzz.files import compile_and_pack, mutate_bytes
from webkiln.errors import SourceError
from webkiln.frontends.torch.archive import check_archive
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.source import (
    TracedProgram,
    first_line,
    is_script,
    program_of,
    read_script,
)

NAMES = ("linear", "lstm", "residual", "states", "sizes", "embeddings", "cond", "bilinear")
NUMBERS = (0, 1, -1, 2, 7, 99, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63), 0.5)


@cache
def originals() -> tuple[bytes, ...]:
    programs = []
    for name in NAMES:
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.export.save(exported(MODULES[name]), file)
        programs.append(file.getvalue())
    torch_scripts.originals()
    return tuple(programs)


def entries(data: Any) -> list[tuple[Any, Any]]:
    """Every entry of JSON data, as its container and key."""
    result: list[tuple[Any, Any]] = []
    todo = [data]
    while todo:
        item = todo.pop()
        keys = (
            list(item)
            if isinstance(item, dict)
            else range(len(item))
            if isinstance(item, list)
            else ()
        )
        result += [(item, key) for key in keys]
        todo += [item[key] for key in keys]
    return result


def mutate_json(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Change, remove or move one entry."""
    table = json.loads(data)
    all_entries = entries(table)
    owner, key = rng.choice(all_entries)
    value, (other, other_key) = owner[key], rng.choice(all_entries)
    match rng.choice(["change", "change", "change", "remove", "another"]):
        case "remove":
            del owner[key]
        case "another":
            owner[key] = json.loads(json.dumps(other[other_key]))
        case _:
            if isinstance(value, bool):
                owner[key] = not value
            elif isinstance(value, int | float):
                owner[key] = rng.choice([*NUMBERS, value + 1])
            elif isinstance(value, str):
                owner[key] = rng.choice(
                    [
                        "",
                        f"{value}x",
                        value[::-1],
                        "__import__('os').abort()",
                        "../x",
                        "aten.mm.default",
                        "torch.ops.aten.relu.default",
                    ]
                )
            else:
                owner[key] = rng.choice([None, [], {}, 3, "x"])
    return json.dumps(table).encode(), str(key)


def make(seed: int, folder: Path) -> str:
    rng = random.Random(seed)
    return torch_scripts.make(rng, folder) if seed % 2 else make_program(rng, folder)


def make_program(rng: random.Random, folder: Path) -> str:
    data = rng.choice(originals())
    path = folder / "net.pt2"
    if rng.random() < 0.2:
        path.write_bytes(mutate_bytes(rng, data))
        return "bytes"
    with zipfile.ZipFile(io.BytesIO(data)) as before:
        members = {name: before.read(name) for name in before.namelist()}
    chosen = rng.choice([name for name in members if name.endswith(".json")] * 3 + list(members))
    if chosen.endswith(".json"):
        members[chosen], mutation = mutate_json(rng, members[chosen])
    else:
        members[chosen], mutation = mutate_bytes(rng, members[chosen]), "bytes"
    with zipfile.ZipFile(path, "w") as after:
        for name, content in members.items():
            after.writestr(name, content)
    return f"{chosen}: {mutation}"


def attempt(folder: Path, phase: Callable[[str], None]) -> None:
    """Build up to the graph; the probe runs in this process."""
    phase("checking")
    with quiet():
        traced = (
            scripted(folder, phase)
            if (folder / "net.pt").exists()
            else program_of(checked(folder / "net.pt2"), {}, trust_source=False)
        )
        phase("loading")
        spec, blobs = read_program(traced.program, "net", traced.inputs)
    phase("converting")
    compile_and_pack(TorchConverter().convert(spec, blobs), phase)
    phase("judging")


def checked(path: Path) -> Path:
    check_archive(path)
    return path


def scripted(folder: Path, phase: Callable[[str], None]) -> TracedProgram:
    """The probe of TorchScript only reads the file."""
    path = checked(folder / "net.pt")
    if is_script(path):
        try:
            read_script(path)
        except Exception as error:  # noqa: BLE001 - torch raises many types for invalid files
            raise SourceError(first_line(error)) from None
    phase("loading")
    return program_of(
        path, {"": json.loads((folder / "shape.json").read_text())}, trust_source=True
    )


def judge(folder: Path) -> str | None:
    """Check that no file was created by the archive."""
    return (
        None
        if {path.name for path in folder.iterdir()}
        <= {"net.pt2", "net.pt", "shape.json", "log", "code"}
        else "something was written"
    )


FORMAT = files.Format(make, attempt, judge)
