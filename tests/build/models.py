"""The edits that the build tests make in each model. A new row runs all of these tests on another
DAG.
"""

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

import h5py

from tests.build.tree import Tree


@dataclass(frozen=True)
class Model:
    """`template`: (path, text) of a template that some kernels use. `quiet`: a pass that changes
    nothing in this model.
    """

    toy: bool
    template: tuple[str, str]
    quiet: str
    retrain: Callable[[Tree], None]


def _retrain_toy(tree: Tree) -> None:
    tree.edit("models/toy/model.json", "0.25", "0.125")


def _retrain_digits(tree: Tree) -> None:
    (path,) = (tree.root / "models" / "digits").glob("*.keras")
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    weights = io.BytesIO(files["model.weights.h5"])
    with h5py.File(weights, "r+") as file:
        file.visititems(
            lambda _, item: (
                item.write_direct(item[...] * 1.001)
                if isinstance(item, h5py.Dataset) and item.ndim
                else None
            )
        )
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (files | {"model.weights.h5": weights.getvalue()}).items():
            archive.writestr(name, data)


MODELS = {
    "toy": Model(
        toy=True,
        template=("kernels/relu.c.jinja", "void relu"),
        quiet="sort_nothing",
        retrain=_retrain_toy,
    ),
    "digits": Model(
        toy=False,
        template=("kernels/intrinsics.c", "float wk_max"),
        quiet="merge_common",
        retrain=_retrain_digits,
    ),
}
