"""Mutated snapshots of Chainer: accepted files have the weights of the model, no code of theirs
runs, and nothing ends in a traceback.
"""

import io
import random
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.frontends.chainer.reading import recorded, snapshot
from tests.fuzz import files
from tests.fuzz.files import compile_and_pack, mutate_bytes
from webkiln.frontends.chainer.converter import ChainerConverter
from webkiln.frontends.chainer.recording import read, write

NETS = ("chain_list", "chainer_1", "classifier", "encoder", "tokens", "unet")
HEADERS = (
    (b"<f4", b">f4"),
    (b"<f4", b"<f8"),
    (b"<f4", b"|O"),
    (b"<f4", b"<c8"),
    (b"<f4", b"|S4"),
    (b"<f4", b"<i4"),
    (b"False", b"True"),
    (b"(", b"[("),
    (b"3", b"9" * 30),
    (b"(4", b"(-4"),
    (b"'shape'", b"'shape' if __import__('os').abort() else 'shape'"),
    (b"{", b"{" * 500),
    (b"descr", b"descs"),
    (b"}", b""),
)


@cache
def originals() -> tuple[tuple[str, Path], ...]:
    return tuple((name, snapshot(name)) for name in NETS)


def mutate_member(rng: random.Random, data: bytes) -> bytes:
    """Replace the header, or change bytes."""
    if rng.random() < 0.4:
        return mutate_bytes(rng, data)
    before, after = rng.choice(HEADERS)
    return data.replace(before, after, 1)


def mutate_archive(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Change, remove, rename, duplicate or enlarge one array."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    index = rng.randrange(len(members))
    name, content = members[index]
    mutation = rng.choice(
        ["change", "change", "change", "remove", "rename", "double", "bomb", "another"]
    )
    if mutation == "change":
        members[index] = (name, mutate_member(rng, content))
    elif mutation == "remove":
        del members[index]
    elif mutation == "rename":
        members[index] = (
            rng.choice(
                [
                    f"../{name}",
                    "/etc/x.npy",
                    name.upper(),
                    f"a/{name}",
                    "x",
                    name.replace(".npy", ""),
                    f"{name}\0",
                ]
            ),
            content,
        )
    elif mutation == "double":
        members.append((name, content))
    elif mutation == "bomb":
        members[index] = (name, content + bytes(rng.choice([1, 1 << 10, 1 << 24])))
    else:
        members[index] = (name, rng.choice(members)[1])
    file = io.BytesIO()
    with zipfile.ZipFile(
        file, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    ) as archive:
        for label, value in members:
            archive.writestr(label, value)
    return file.getvalue(), f"{mutation} {name}"


def make(seed: int, folder: Path) -> str:
    rng = random.Random(seed)
    name, path = rng.choice(originals())
    data = path.read_bytes()
    if path.suffix == ".npz" and rng.random() < 0.8:
        data, mutation = mutate_archive(rng, data)
    else:
        data, mutation = mutate_bytes(rng, data), "bytes"
    (folder / f"weights{path.suffix}").write_bytes(data)
    (folder / "net").write_text(name)
    return f"{name}: {mutation}"


def attempt(folder: Path, phase: Callable[[str], None]) -> None:
    """Build up to the graph. HDF5 files are probed in a separate process."""
    name = (folder / "net").read_text()
    phase("loading")
    write(folder / "made", *recorded(name, weights=next(folder.glob("weights.*"))))
    phase("converting")
    compile_and_pack(ChainerConverter().convert(*read(folder / "made")), phase)
    phase("judging")


def judge(folder: Path) -> str | None:
    """Check that no file was created by the archive."""
    written = {path.name for path in folder.iterdir()} - {
        "net",
        "log",
        "made",
        "weights.npz",
        "weights.h5",
    }
    return f"{', '.join(sorted(written))} was written" if written else None


FORMAT = files.Format(make, attempt, judge)
