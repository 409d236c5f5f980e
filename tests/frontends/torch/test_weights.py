"""Weight files in safetensors and GGUF for modules that a function returns."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.commands.conftest import Command, cache, webkiln  # noqa: F401 - fixtures
from tests.frontends.torch import factories
from tests.frontends.torch.nets import SOURCE, net
from tests.frontends.torch.renamed import NAMES
from tests.frontends.torch.weight_files import GGUF, gguf, safetensors
from webkiln.errors import SourceError
from webkiln.frontends.torch.block_weights import BlockWeights
from webkiln.frontends.torch.factory import factory_program
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.gguf import read_gguf
from webkiln.frontends.torch.weights import DTYPES, read_state


def test_every_type_of_gguf_matches_the_gguf_package() -> None:
    tensors = read_gguf(GGUF)
    with np.load(GGUF.with_suffix(".npz")) as expected:
        assert tensors.keys() == set(expected.files)
        for name in expected.files:
            tensor = tensors[name]
            values = tensor.values() if isinstance(tensor, BlockWeights) else tensor
            assert values.dtype == expected[name].dtype
            assert np.array_equal(values, expected[name]), name


@pytest.mark.parametrize(("version", "alignment"), [(2, 32), (3, 32), (3, 64), (3, 8)])
def test_a_function_renames_the_tensors_of_a_file(
    version: int, alignment: int, tmp_path: Path
) -> None:
    own = {name: value.numpy() for name, value in net().state_dict().items()}
    tensors = {name: own[of] for name, of in NAMES.items()} | {"step": np.zeros(1, np.float32)}
    (tmp_path / "net.gguf").write_bytes(gguf(tensors, version=version, alignment=alignment))
    source = {**SOURCE, "module": "tests.frontends.torch.renamed", "function": "make"}
    with quiet():
        program = factory_program(source, {"image": ["N", 3, 8, 8]}, tmp_path / "net.gguf")
        x = torch.rand(4, 3, 8, 8)
        assert torch.allclose(program.module()(x), net()(x), atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_of_safetensors_is_read(dtype: str, tmp_path: Path) -> None:
    value = (
        torch.arange(6).reshape(2, 3) % 2 if dtype == "BOOL" else torch.arange(6).reshape(2, 3)
    ).to(DTYPES[dtype])
    raw = value.contiguous().view(torch.uint8).numpy().tobytes()
    entries = {"w": (dtype, [2, 3], [0, len(raw)]), "none": (dtype, [0, 4], [len(raw), len(raw)])}
    (tmp_path / "w").write_bytes(safetensors(entries, raw))
    tensors = read_state(tmp_path / "w")
    assert torch.equal(tensors["w"].double(), value.double())
    assert tensors["none"].shape == (0, 4)


@pytest.mark.long
def test_the_command_line_reads_gguf(webkiln: Command, tmp_path: Path) -> None:  # noqa: F811
    own = {name: value.numpy() for name, value in net().state_dict().items()}
    (tmp_path / "net.gguf").write_bytes(gguf({name: own[of] for name, of in NAMES.items()}))
    (tmp_path / "mine.py").write_text(
        f"{Path(factories.__file__).read_text()}\n\ndef state_dict(tensors):\n    return"
        f" {{({NAMES!r})[name]: item for name, item in tensors.items()}}\n"
    )
    done = webkiln(
        "build",
        "mine:bare",
        "--weights",
        "net.gguf",
        "-o",
        "out",
        "--backend",
        "js",
        "--input-shape",
        "image=N,3,8,8",
    )
    assert done.returncode == 0, done.stderr
    x = np.random.default_rng(0).random((2, 3, 8, 8), np.float32)
    np.savez(tmp_path / "in.npz", image=x)
    done = webkiln("run", "out", "--backend", "js", "--inputs", "in.npz", "--outputs", "out.npz")
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as arrays:
        assert np.allclose(arrays["output"], net()(torch.from_numpy(x)).detach(), atol=1e-5)


W = np.arange(6, dtype=np.float32)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (safetensors({"w": ("F32", [2], [0, 8])}, bytes(4)), "w is at bytes 0 to 8 of 4"),
        (
            safetensors({"w": ("F32", [2], [4, 12])}, bytes(12)),
            "w is at bytes 4 to 12 of 12, expected 0 to 8",
        ),
        (
            safetensors({"w": ("F32", [2], [0, 8]), "v": ("F32", [2], [0, 8])}, bytes(8)),
            "is at bytes 0 to 8 of 8, expected 8 to 16",
        ),
        (
            safetensors({"w": ("BF16", [2], [0, 8])}, bytes(8)),
            "w is at bytes 0 to 8 of 8, expected 0 to 4",
        ),
        (
            safetensors({"w": ("F32", [2], [0, 8])}, bytes(12)),
            "has 12 bytes of tensors, its header describes 8",
        ),
        (safetensors({"w": ("F32", [-2], [0, 8])}, bytes(8)), r"its shape is \[-2\]"),
        (safetensors({"w": ("F32", [2.0], [0, 8])}, bytes(8)), r"its shape is \[2.0\]"),
        (safetensors({"w": ("F32", 2, [0, 8])}, bytes(8)), "are missing or invalid"),
        (safetensors({"w": ("F4", [2], [0, 1])}, bytes(1)), "has tensors of F4; supported are F64"),
        (
            (1 << 40).to_bytes(8, "little") + b"{}",
            "its header has 1099511627776 bytes, the file 10",
        ),
        ((8).to_bytes(8, "little") + b"{" * 8, "its header is not JSON"),
        ((19).to_bytes(8, "little") + b'{"a": {}, "a": {}} ', "a name occurs twice"),
        (gguf({"w": W}, version=1), "is GGUF of version 1"),
        (gguf({"w": W})[:60], "ends at byte 60"),
        (gguf({"w": W})[:-20], "w .* is at bytes .* of"),
        (gguf({"w": W}, kind=16), "has tensors of IQ2_XXS; supported are F32"),
        (gguf({"w": W}, kind=99), "has tensors of type 99"),
        (gguf({"w": W}, kind=2), "the rows of w .* are not divisible into blocks of 32"),
        (gguf({"w": W}, shape=[1 << 40, 1 << 20]), "its tensors are larger than the file"),
        (gguf({"w": W}, shape=[1] * 12), "w has 12 axes"),
        (gguf({"w": W}).replace(b"\x20\0\0\0", b"\0\0\0\0", 1), "its general.alignment is 0"),
    ],
)
def test_damaged_files_are_rejected(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(data)
    with pytest.raises(SourceError, match=f"weights: .*{message}"):
        read_state(tmp_path / "weights")


def test_errors_of_the_state_dict_function_are_reported(tmp_path: Path) -> None:
    (tmp_path / "net.gguf").write_bytes(gguf({"other.w": W}))
    source = {**SOURCE, "module": "tests.frontends.torch.renamed", "function": "make"}
    with quiet(), pytest.raises(SourceError, match=r"renamed:state_dict: KeyError: 'other.w'"):
        factory_program(source, {"image": [1, 3, 8, 8]}, tmp_path / "net.gguf")
