"""`webkiln tune`: its measurements and its file, a second run, the use of the file by a recipe, and
the report of `webkiln explain`.
"""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.build.tree import executed
from tests.commands.conftest import Command
from webkiln import canonical
from webkiln.backends.host import read_manifest
from webkiln.plan.tuning import SCHEMA

SHAPE = (1, 13, 12, 16)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A convolution with several candidates, and a product of its result."""
    import keras

    keras.utils.set_random_seed(0)
    layers = keras.layers
    x = keras.Input(SHAPE[1:], name="x")
    y = layers.Flatten()(layers.Conv2D(32, 3, padding="same", activation="relu", name="conv")(x))
    file = tmp_path_factory.mktemp("model") / "small.keras"
    keras.Model(x, layers.Dense(40, name="scores")(y), name="small").save(file)
    return file


@pytest.fixture
def recipe(model: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "models" / "small"
    folder.mkdir(parents=True)
    (folder / "small.keras").write_bytes(model.read_bytes())
    (folder / "recipe.toml").write_text('source = "small.keras"\nbackends = ["wasm", "js"]\n')
    return folder


def executions(cache: Path) -> Counter[str]:
    """The number of executions of each task in all states of the command."""
    logs = (path.read_text().splitlines() for path in (cache / "state").glob("*/log.jsonl"))
    return executed([json.loads(line) for lines in logs for line in lines])


def launched(bundle: Path) -> list[str]:
    return [step["kernel"] for step in read_manifest(bundle)["launches"]["wasm"]]


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    """A recipe of one product."""
    import keras

    folder = tmp_path / "models" / "small"
    folder.mkdir(parents=True)
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]).save(folder / "dense.keras")
    (folder / "recipe.toml").write_text('source = "dense.keras"\nbackends = ["js"]\n')
    return folder


@pytest.mark.parametrize(
    ("fixture", "kinds"),
    [
        ("dense", {"contraction": 1}),
        # The convolution, its products by each algorithm, and the product.
        pytest.param("recipe", {"convolution": 1, "contraction": 4}, marks=pytest.mark.long),
    ],
)
def test_measurements_are_written_once(
    fixture: str,
    kinds: dict[str, int],
    webkiln: Command,
    cache: Path,
    request: pytest.FixtureRequest,
) -> None:
    recipe: Path = request.getfixturevalue(fixture)
    done = webkiln("tune", recipe, "--browser", "node", "--backend", "js")
    assert done.returncode == 0, done.stderr
    assert re.search(r"small, js in node: \d+ of \d+ choices change", done.stdout)
    assert 'tuned = "tuned.json"' in done.stdout, "how the recipe takes it"
    data = canonical.read(recipe / "tuned.json")
    table = data["backends"]["js"]
    assert (data["schema"], table["browser"]) == (SCHEMA, "node")
    assert Counter(key.partition(" ")[0] for key in table["kernels"]) == kinds
    assert all(
        len(entry["ms"]) > 1 and entry["chosen"] in entry["ms"]
        for entry in table["kernels"].values()
    )
    content, before = (recipe / "tuned.json").read_bytes(), executions(cache)
    second = webkiln("tune", recipe, "--browser", "node", "--backend", "js")
    assert second.returncode == 0, second.stderr
    assert executions(cache) == before, "nothing runs twice"
    assert (recipe / "tuned.json").read_bytes() == content


def test_force_repeats_measurements(webkiln: Command, dense: Path, cache: Path) -> None:
    words = ("tune", dense, "--browser", "node")
    assert webkiln(*words).returncode == 0
    before = executions(cache)
    forced = webkiln(*words, "--force")
    assert forced.returncode == 0, forced.stderr
    assert executions(cache) - before == {"tune:small:js:node": 1}, (
        "it measures again, and builds nothing"
    )


def test_a_recipe_uses_its_tuning_file(webkiln: Command, recipe: Path, tmp_path: Path) -> None:
    assert webkiln("build", recipe, "-o", "usual").returncode == 0
    (key, candidates), *_ = (
        (item["key"], item["candidates"])
        for step in read_manifest(tmp_path / "usual")["launches"]["wasm"]
        for item in step.get("decided", ())
    )
    assert candidates[0][0].startswith("winograd")
    entry = {"chosen": "direct", "ms": {"direct": 0.125, candidates[0][0]: 0.25}}
    (recipe / "tuned.json").write_text(
        json.dumps({"schema": SCHEMA, "backends": {"wasm": {"kernels": {key: entry}}}})
    )
    (recipe / "recipe.toml").write_text(
        'source = "small.keras"\nbackends = ["wasm", "js"]\ntuned = "tuned.json"\n'
    )
    done = webkiln("build", recipe, "-o", "tuned")
    assert done.returncode == 0, done.stderr
    assert len(launched(tmp_path / "tuned")) == len(launched(tmp_path / "usual")) - 2, (
        "three launches become one"
    )
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "in.npz", x=rng.standard_normal(SHAPE).astype(np.float32))
    results = []
    for name in ("usual", "tuned"):
        ran = webkiln(
            "run", name, "--inputs", "in.npz", "--outputs", f"{name}.npz", "--backend", "wasm"
        )
        assert ran.returncode == 0, ran.stderr
        results.append(np.load(tmp_path / f"{name}.npz"))
    for output in results[0].files:
        assert np.max(np.abs(results[0][output] - results[1][output])) <= 1e-4 * np.max(
            np.abs(results[0][output])
        )
    explained = webkiln("explain", "tuned", "--backend", "wasm", "--candidates").stdout
    part = explained.partition("tuned, wasm: candidates\n")[2]
    rows = [re.split(r" {2,}", line.strip()) for line in part.splitlines() if key in line]
    assert {row[2]: row[3] for row in rows} == {
        name: "chosen" if name == "direct" else "rejected" for name, *_ in candidates
    }
    assert {row[2]: row[5] for row in rows if len(row) > 5} == {
        "direct": "0.1250",
        candidates[0][0]: "0.2500",
    }
    assert all(float(row[4]) > 0 for row in rows)
    assert "candidates" not in webkiln("explain", "tuned", "--backend", "wasm").stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the tuned choices: not JSON"),
        (
            '{"schema": "webkiln.tuned/0", "backends": {}}',
            "the tuned choices: expected the schema webkiln.tuned/1",
        ),
        (None, "tuned.json: cannot be read"),
    ],
)
def test_an_invalid_tuning_file_is_rejected(
    text: str | None, message: str, webkiln: Command, recipe: Path
) -> None:
    (recipe / "recipe.toml").write_text(
        'source = "small.keras"\nbackends = ["js"]\ntuned = "tuned.json"\n'
    )
    if text is not None:
        (recipe / "tuned.json").write_text(text)
    done = webkiln("build", recipe, "-o", "out")
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_damaged_file_is_not_overwritten(webkiln: Command, recipe: Path) -> None:
    (recipe / "tuned.json").write_text("{")
    done = webkiln("tune", recipe, "--browser", "node")
    assert done.returncode == 2
    assert "tuned.json: cannot be read" in done.stderr
    assert (recipe / "tuned.json").read_text() == "{"


def test_models_without_candidates_or_recipe_are_errors(
    webkiln: Command, recipe: Path, model: Path
) -> None:
    done = webkiln("tune", recipe, "--backend", "webgl")
    assert done.returncode == 2
    assert "there are no alternatives for webgl" in done.stderr
    done = webkiln("tune", model)
    assert done.returncode == 2
    assert "has no recipe;" in done.stderr
