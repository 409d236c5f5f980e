"""Mutated TorchScript files, of the installed torch and of older ones: their code, pickles, arrays
and bytes.
"""

import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import torch

from tests.frontends.torch import scripts
from tests.fuzz.files import mutate_bytes
from webkiln.frontends.torch.framework import quiet

OLD = Path(__file__).parents[1] / "frontends" / "torch" / "old"
OWN = {
    scripts.Recurring: (2, 3, 6, 5),
    scripts.Growing: (2, 3),
    scripts.Collecting: (2, 4),
    scripts.Remembering: (2, 4),
}
WORD = re.compile(r"[A-Za-z_][\w.]*|-?\d[\d.e+-]*")
LINE = re.compile(r"(?<=\n)[^\n]*\n")
WORDS = (
    "0",
    "-1",
    "1",
    "2",
    "7",
    "65537",
    "1099511627776",
    "9223372036854775807",
    "1e400",
    "True",
    "None",
    "x",
    "self",
    "_0",
    "torch.add",
    "torch.relu",
    "torch.mul",
    "torch.zeros",
    "torch.floor_divide",
    "torch.size",
    "torch.append",
    "torch.numel",
    "ops.prim.data",
    "ops.aten.nothing",
    "ops.inductor.x",
    "torch.from_file",
    "torch.save",
    "torch.load",
    "torch.resize_",
    "torch.as_strided",
    "torch.set_",
    "torch.add_",
    "torch.nonzero",
    "torch.item",
    "int",
    "float",
    "str",
    "List[int]",
    "Tensor",
    "Optional[Tensor]",
    "__torch__.Net",
    "annotate",
    "unchecked_cast",
    "uninitialized",
)
RUNNING = b"\x80\x02cpathlib\nPath\nX\x07\x00\x00\x00written\x85R}q\x00."
"""A pickle that would create a Python object."""
TOUCHING = b"\x80\x02cos\nsystem\nX\x0d\x00\x00\x00touch written\x85R."
"""A pickle that would run a program."""


@cache
def originals() -> tuple[tuple[bytes, tuple[int, ...]], ...]:
    """Files, and the shape of the input of each."""
    samples = []
    for kind, shape in OWN.items():
        file = io.BytesIO()
        torch.manual_seed(0)
        with quiet():
            torch.jit.save(torch.jit.script(kind().eval()), file)
        samples.append((file.getvalue(), shape))
    for path in sorted(OLD.glob("*/*.pt")):
        with np.load(path.with_suffix(".npz")) as arrays:
            samples += [
                (path.read_bytes(), arrays[name].shape)
                for name in arrays.files
                if name.startswith("in/")
            ]
    return tuple(samples)


def mutate_code(rng: random.Random, data: bytes) -> bytes:
    """Change a word, drop or duplicate a line, or swap two lines."""
    text = data.decode()
    words, lines = list(WORD.finditer(text)), list(LINE.finditer(text))
    first, second = (
        sorted(rng.choices(lines, k=2), key=lambda matched: matched.start())
        if lines
        else (None, None)
    )
    match rng.choice(["word", "word", "another", "another", "drop", "twice", "exchange"]):
        case "word":
            word, new = rng.choice(words), rng.choice(WORDS)
            text = text[: word.start()] + new + text[word.end() :]
        case "another":
            word, other = rng.choices(words, k=2)
            text = text[: word.start()] + other.group() + text[word.end() :]
        case "drop" if first:
            text = text[: first.start()] + text[first.end() :]
        case "twice" if first:
            text = text[: first.end()] + first.group() + text[first.end() :]
        case "exchange" if first and second and first is not second:
            text = (
                text[: first.start()]
                + second.group()
                + text[first.end() : second.start()]
                + first.group()
                + text[second.end() :]
            )
    return text.encode()


def mutate_pickle(rng: random.Random, data: bytes) -> bytes:
    return rng.choice((RUNNING, TOUCHING)) if rng.random() < 0.1 else mutate_bytes(rng, data)


def mutate_some(rng: random.Random, data: bytes) -> bytes:
    return mutate_bytes(rng, data or b"\n")


MUTATIONS: Mapping[str, Callable[[random.Random, bytes], bytes]] = {
    ".py": mutate_code,
    ".pkl": mutate_pickle,
}
"""Mutations by the suffix of a member's name."""


def make(rng: random.Random, folder: Path) -> str:
    data, shape = rng.choice(originals())
    path = folder / "net.pt"
    (folder / "shape.json").write_text(json.dumps(shape))
    if rng.random() < 0.15:
        path.write_bytes(mutate_bytes(rng, data))
        return "bytes"
    with zipfile.ZipFile(io.BytesIO(data)) as before:
        members = {name: before.read(name) for name in before.namelist()}
    mutable = [name for name in members if name.endswith(tuple(MUTATIONS))]
    chosen = rng.choice([*mutable, *mutable, *mutable, *members])
    if rng.random() < 0.03:
        del members[chosen]
    else:
        members[chosen] = MUTATIONS.get(Path(chosen).suffix, mutate_some)(rng, members[chosen])
    with zipfile.ZipFile(path, "w") as after:
        for name, content in members.items():
            after.writestr(name, content)
    return chosen
