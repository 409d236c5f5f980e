"""What the proofs of the build edit, per model: a row here runs all of them on one more DAG."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.build.tree import Tree


@dataclass(frozen=True)
class Model:
    """`template` is a place (path, text) in a template that some kernels use; `quiet` is a pass that changes nothing in this model."""

    toy: bool
    template: tuple[str, str]
    quiet: str
    retrain: Callable[[Tree], None]


def _retrain_toy(tree: Tree) -> None:
    tree.edit("models/toy/model.json", "0.25", "0.125")


MODELS = {
    "toy": Model(
        toy=True,
        template=("kernels/relu.c.jinja", "void relu"),
        quiet="sort_nothing",
        retrain=_retrain_toy,
    ),
}
