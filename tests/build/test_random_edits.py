"""After any sequence of edits, what an incremental build gives equals what a clean build gives."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.build.tree import Tree, checkout
from webkiln.build.engine import Engine
from webkiln.build.executor import LocalPool
from webkiln.build.graph import Choice, ModelGraph
from webkiln.build.share import Share
from webkiln.recipe import read_recipe

KERNELS = ("conv", "relu", "dense", "noop")
PASSES = ("drop_noop", "sort_nothing")


@pytest.fixture
def pools(tmp_path: Path) -> Iterator[tuple[Tree, LocalPool]]:
    tree = checkout(tmp_path / "tree", tmp_path / "cache", toy=True)
    pool = LocalPool(tree.root / "pipeline", size=1)
    yield tree, pool
    pool.close()


def bundle(tree: Tree, pool: LocalPool, state: Path, cache: Path) -> dict[str, str]:
    """Digests of the files of the toy's bundle."""
    share = Share(tree.root, tree.root / "pipeline" / "webkiln")
    with Engine(state, cache=cache, shared=share, executor=pool) as engine:
        graph = ModelGraph(read_recipe(tree.root / "models" / "toy" / "recipe.toml"), share, PASSES)
        result = engine.run(graph.bundle(Choice(("js", "wasm"))))
    return {path: blob.sha256 for path, blob in result.outputs.items()}


def test_random_edits(pools: tuple[Tree, LocalPool]) -> None:
    tree, pool = pools

    class Edits(RuleBasedStateMachine):
        @rule(kernel=st.sampled_from(KERNELS), version=st.integers(0, 2))
        def edit_template(self, kernel: str, version: int) -> None:
            (tree.root / "kernels" / f"{kernel}.c.jinja").write_text(f"void {kernel}(void); // {version}\n")

        @rule(name=st.sampled_from(PASSES), drop=st.sampled_from(("noop", "relu", "none")))
        def edit_pass(self, name: str, drop: str) -> None:
            text = f"def apply(layers: list[str]) -> list[str]:\n    return [x for x in layers if x != {drop!r}]\n"
            (tree.root / "pipeline" / "webkiln" / "passes" / f"{name}.py").write_text(text)

        @rule(layers=st.permutations(KERNELS), weight=st.integers(0, 2))
        def edit_model(self, layers: list[str], weight: int) -> None:
            text = f'{{"layers": {layers}, "weights": {{"conv": "{weight}"}}}}'.replace("'", '"')
            (tree.root / "models" / "toy" / "model.json").write_text(text)

        @rule(marker=st.sampled_from("ab"))
        def edit_stage(self, marker: str) -> None:
            path = tree.root / "stages" / "link.py"
            lines = [line for line in path.read_text().splitlines() if not line.startswith("MARKER")]
            path.write_text("\n".join(lines).replace('b"".join', f'b"{marker}".join').replace('b"b".join', f'b"{marker}".join') + "\n")

        @rule(victim=st.integers(0, 1000))
        def damage_blob(self, victim: int) -> None:
            blobs = sorted((tree.cache / "blobs").glob("??/*"))
            if blobs:
                path = blobs[victim % len(blobs)]
                path.chmod(0o644)
                path.write_bytes(path.read_bytes()[::-1])

        @rule()
        def forget_state(self) -> None:
            shutil.rmtree(tree.state, ignore_errors=True)

        @invariant()
        def incremental_equals_clean(self) -> None:
            with tempfile.TemporaryDirectory() as clean:
                expected = bundle(tree, pool, Path(clean) / "state", Path(clean) / "cache")
            assert bundle(tree, pool, tree.state, tree.cache) == expected

    checks = list(HealthCheck)
    run_state_machine_as_test(Edits, settings=settings(max_examples=6, stateful_step_count=8, deadline=None, suppress_health_check=checks))
