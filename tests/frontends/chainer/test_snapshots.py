"""Snapshots of weights: their layouts, and files that are rejected."""

import io
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.frontends.chainer.reading import computed, small
from webkiln.errors import SourceError
from webkiln.frontends.chainer.snapshot import opened

W, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2], np.float32)


def saved(path: Path, prefix: str = "", **more: Any) -> Path:
    np.savez(path, **{f"{prefix}W": W, f"{prefix}b": B, **more})
    return path


def saved_hdf5(path: Path, prefix: str = "") -> Path:
    with h5py.File(path, "w") as file:
        file[f"{prefix}W"], file[f"{prefix}b"] = W, B
        file["none"] = h5py.Empty("f")
    return path


PREFIXES = [
    "",
    "/",
    "updater/model:main/",
    "updater/model:main/predictor/",
    "predictor/",
    "updater/model:gen/",
    "anything/else/",
]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("name", ["linear", "lazy"])
def test_snapshots_of_trainers_and_parents_are_read(name: str, prefix: str, tmp_path: Path) -> None:
    more = {
        "updater/optimizer:main/W/m": W * 0,
        "updater/iterator:main/epoch": np.array(3),
        "_snapshot": np.array(None),
    }
    for path in (saved(tmp_path / "a.npz", prefix, **more), saved_hdf5(tmp_path / "a.h5", prefix)):
        got = computed(small(name, weights=path), np.ones((2, 3), np.float32))[0]
        assert np.array_equal(got, np.ones((2, 3), np.float32) @ W.T + B)


def test_a_method_has_the_weights_of_its_chain(tmp_path: Path) -> None:
    graph = small("method", weights=saved(tmp_path / "a.npz", "updater/model:main/fc/"))
    assert set(graph.slots) == {"fc/W", "fc/b"}
    assert np.allclose(computed(graph, np.ones((2, 3), np.float32))[0].sum(axis=1), 1)
    with pytest.raises(
        SourceError,
        match=(
            "returned a function, which has no weights; return"
            " the chain of the snapshot, or one of its methods"
        ),
    ):
        small("old_functions", weights=tmp_path / "a.npz")


def test_ambiguous_weights_are_loaded_by_the_function(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(
        path,
        **{
            f"updater/model:{name}/{key}": value * scale
            for name, scale in (("gen", 1), ("dis", 2))
            for key, value in (("W", W), ("b", B))
        },
    )
    with pytest.raises(
        SourceError,
        match=(
            r"in several places, updater/model:dis/, updater/model:gen/; load them in the function,"
            r" .*path='updater/model:dis/'"
        ),
    ):
        small("linear", weights=path)
    sequential = {f"updater/model:dis/0/{key}": value * 2 for key, value in (("W", W), ("b", B))}
    np.savez(path, **sequential)
    got = computed(
        small("loaded", path=str(path), key="updater/model:dis"), np.ones((2, 3), np.float32)
    )[0]
    assert np.array_equal(got, 2 * (np.ones((2, 3), np.float32) @ W.T + B))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"W": W}, "a.npz: lacks 1 of the 2 weights of small:linear, such as b"),
        (
            {"conv/W": W, "V": W},
            (
                "a.npz: lacks 1 of the 2 weights of small:linear, such as b; it has V, which the"
                " model has not"
            ),
        ),
        ({"W": W.T, "b": B}, r"a.npz: W is \[3, 2\], small:linear expects \[2, 3\]"),
        ({"W": W + 1j, "b": B}, "is of complex64; webkiln has"),
        ({"W": np.array(None), "b": B}, "no weights were loaded for W"),
    ],
)
def test_snapshots_of_other_models_are_rejected(
    arrays: dict[str, np.ndarray], message: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(SourceError, match=message):
        small("linear", weights=tmp_path / "a.npz")


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=True)
    return file.getvalue()


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "ran",))

    path = archive(
        tmp_path / "a.npz", **{"W.npy": npy(np.array([Evil()], object)), "b.npy": npy(B)}
    )
    with opened(path) as snapshot:
        assert snapshot.empty == {"W"}
        assert set(snapshot.arrays) == {"b"}
    with pytest.raises(SourceError):
        small("linear", weights=path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"W.npy": b"\x93NUMPY"}, "not a readable snapshot"),
        ({"W.npy": npy(W)[:-4]}, r"W has 20 bytes, float32\[2, 3\] needs 24"),
        ({"W.npy": npy(W).replace(b"(2, 3)", b"(9**9,")}, "not a readable snapshot"),
        ({"W.npy": npy(np.zeros(1 << 20, np.uint8)) + bytes(1 << 21)}, "claims .* refused"),
        ({"code.py": b"x"}, "its member 'code.py' is not an array"),
    ],
)
def test_hostile_snapshots_are_rejected(
    members: dict[str, bytes], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match=message):
        small("linear", weights=archive(tmp_path / "a.npz", **members))


def test_a_link_in_hdf5_is_not_followed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["W"], file["b"] = W, h5py.ExternalLink("/etc/passwd", "x")
    with pytest.raises(SourceError, match="is a link to another place"):
        small("linear", weights=tmp_path / "a.h5")


def test_other_files_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"nothing of the kind")
    with pytest.raises(SourceError, match=r"is not a snapshot of Chainer, neither .npz nor HDF5"):
        small("linear", weights=tmp_path / "a.npz")
