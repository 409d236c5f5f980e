"""Several models in one page, one model in several modules, and one model in two encodings."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.web import pages, project
from tests.web.models import NAME, PIXELS, wider
from tests.web.project import SOURCE
from tests.web.rows import BASE, STRICT


@pytest.mark.parametrize("tool", ["vite", "rollup", "webpack", "esbuild"])
@pytest.mark.sample("vite")
def test_several_models(tool: str, tmp_path: Path) -> None:
    project.need_packages()
    root = project.copy_project(tmp_path, SOURCE)
    shutil.copyfile(project.MODEL, root / "src" / NAME)
    other = wider(10, 3)
    other.save(root / "src" / "other.keras")
    project.run(project.command_of(root, (tool,)), root)
    if tool != "vite":
        shutil.copyfile(root / "index.html", root / "public" / "index.html")
    with pages.deployed(root / "public", BASE, {"Content-Security-Policy": STRICT}) as site:
        pages.browser().get(site.url)
        text = pages.until(
            lambda: pages.browser().execute_script("return document.querySelector('output').value")
        )
        pages.browser().get("about:blank")
    assert text, pages.console()
    answers: dict[str, Any] = json.loads(text)
    assert answers.pop("same") is True
    expected = {
        name: model({"image": PIXELS}, training=False).numpy()[0]
        for name, model in (("whole", pages.model()), ("other", other))
    }
    expected |= {"half": expected["whole"], "again": expected["whole"]}
    for name, answer in answers.items():
        assert (answer["backend"], answer["worker"], answer["encoding"]) == (
            "wasm",
            True,
            "float16" if name == "half" else "float32",
        )
        np.testing.assert_allclose(
            answer["scores"], expected[name], atol=2e-3 if name == "half" else 1e-5, err_msg=name
        )


def test_a_recipe_of_the_project(tmp_path: Path) -> None:
    project.need_packages()
    root = project.copy_project(tmp_path, SOURCE)
    recipe = root / "models" / "mine"
    recipe.mkdir(parents=True)
    shutil.copyfile(project.MODEL, recipe / "m.keras")
    (recipe / "recipe.toml").write_text(
        'source = "m.keras"\nbackends = ["js"]\n[labels]\nscores = ["zero", "one", "two", "three",'
        ' "four", "five", "six", "seven", "eight", "nine"]\n',
        "utf-8",
    )
    (root / "src" / "main.js").write_text(
        "import { load, top } from 'webkiln:mine';\nconst model = await load();\n"
        f"const {{ scores }} = await model.run({pages.pixels().ravel().tolist()});\n"
        "document.querySelector('output').value = [model.backend, top(scores)[0].label].join();\n",
        "utf-8",
    )
    project.run(project.command_of(root, ("rollup",)), root)
    shutil.copyfile(root / "index.html", root / "public" / "index.html")
    with pages.deployed(root / "public", BASE, {"Content-Security-Policy": STRICT}) as site:
        pages.browser().get(site.url)
        assert (
            pages.until(
                lambda: pages.browser().execute_script(
                    "return document.querySelector('output').value"
                )
            )
            == "js,six"
        )
        pages.browser().get("about:blank")
