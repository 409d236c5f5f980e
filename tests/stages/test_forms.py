"""The forms of a bundle: for a server, for caches that keep files indefinitely, for npm, and as one
file.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.hosts import every_host, every_page
from tests.runtime import fake_bundle
from tests.runtime.tampering import Site, in_page, perform
from tests.stages.forms import FORMS, PACKAGE
from webkiln import canonical
from webkiln.build.names import BY_BYTES, bundle_files, may_be_published
from webkiln.errors import RecipeError
from webkiln.recipe.form import Form
from webkiln.recipe.read import read_recipe

Y = [11.5, 6.0, 10.75, 42.0]
forms = pytest.mark.parametrize("form", FORMS)


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {
        name: fake_bundle.build(tmp_path_factory.mktemp(name), form=form)
        for name, form in FORMS.items()
    }


@forms
@every_host
@pytest.mark.parametrize("backend", ["wasm", "js"])
@pytest.mark.parametrize("worker", [True, False], ids=["worker", "main"])
@pytest.mark.sample(20)
def test_each_form_runs(
    form: str, host: str, backend: str, worker: bool, bundles: dict[str, Path]
) -> None:
    got = perform(host, bundles[form], "warnings", {"backends": [backend], "worker": worker})
    assert (got["y"], got["backend"], got["worker"], got["messages"]) == (Y, backend, worker, [])


@forms
def test_publishing_knows_the_files_of_each_form(form: str, bundles: dict[str, Path]) -> None:
    names = {path.name for path in bundles[form].iterdir()}
    assert {name for name in names if not BY_BYTES.fullmatch(name)} == set(
        bundle_files("fake", ("wasm", "js"), FORMS[form])
    )
    assert all(may_be_published(name, "fake") for name in names)
    assert not may_be_published("other.js", "fake")


@pytest.mark.parametrize("form", ["hashed", "npm-hashed"])
def test_hashed_names_follow_the_bytes(form: str, bundles: dict[str, Path]) -> None:
    folder = bundles[form]
    referred = [path for path in folder.iterdir() if BY_BYTES.fullmatch(path.name)]
    assert len(referred) == 9, (
        "two shards, two variants, two backends, the runtime, the Worker and what profiles"
    )
    for path in referred:
        assert path.stem.rpartition("-")[2] == canonical.file_digest(path)[:8]
    for module in folder.glob("*.js"):
        for name in re.findall(r"""["']\./([^"']+)["']""", module.read_text()):
            assert (folder / name).is_file(), f"{module.name} refers to {name}"


def test_a_change_of_weights_renames_their_file_alone(
    bundles: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name for path in bundles["hashed"].iterdir()}
    monkeypatch.setattr(fake_bundle, "WEIGHT", fake_bundle.WEIGHT * 2)
    after = {path.name for path in fake_bundle.build(tmp_path, form=FORMS["hashed"]).iterdir()}
    assert [name.partition("-")[0] for name in before ^ after] == ["weights", "weights"]


@pytest.mark.parametrize("form", ["npm", "npm-hashed"])
def test_npm_accepts_the_package(form: str, bundles: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(bundles[form], tmp_path / "package")

    def npm(*words: str) -> str:
        done = subprocess.run(
            ["npm", *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    (packed,) = json.loads(npm("pack", "--json", "--dry-run"))
    assert (packed["name"], packed["version"]) == ("@me/fake", "1.2.3")
    assert {file["path"] for file in packed["files"]} == {path.name for path in folder.iterdir()}
    assert "@me/fake" in npm("publish", "--dry-run", "--access", "public")
    package = json.loads((folder / "package.json").read_text())
    assert package.items() >= PACKAGE.items()
    assert "import { load } from '@me/fake';" in (folder / "README.md").read_text()


def test_a_package_is_imported_by_its_name_in_node(
    bundles: dict[str, Path], tmp_path: Path
) -> None:
    package_folder = tmp_path / "node_modules" / "@me" / "fake"
    shutil.copytree(bundles["npm"], package_folder)
    (tmp_path / "main.mjs").write_text(
        "import { load } from '@me/fake';\nconst model = await"
        " load();\nconsole.log(JSON.stringify([model.worker, [...(await model.run([1, 2, 3,"
        " 4])).y]]));\nmodel.dispose();\n"
    )
    done = subprocess.run(
        ["node", "main.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) == [True, Y]


SCRIPT_PAGE = """<!doctype html><title>scenario</title><link rel="icon" href="data:,">
<script src="/bundle/fake.js"></script><script>
webkiln.fake.load({backends: ['%s']}).then(async model => {
  const { y } = await model.run([1, 2, 3, 4]);
  return { result: { y: [...y], worker: model.worker, top: webkiln.fake.top(y, 1)[0].label } };
}).catch(error => ({ error: String(error) }))
  .then(answer => fetch('/answer', { method: 'POST', body: JSON.stringify(answer) }));
</script>"""


@every_page
@pytest.mark.parametrize("backend", ["wasm", "js"])
def test_a_single_file_is_a_script(browser: str, backend: str, bundles: dict[str, Path]) -> None:
    site = Site(bundles["single"], pages={"/": SCRIPT_PAGE % backend})
    assert in_page(site, "none", None, browser) == {"y": Y, "worker": True, "top": "d"}
    assert [path for path in site.requests if path.startswith("/bundle/")] == ["/bundle/fake.js"], (
        "nothing else is fetched"
    )


FILE_PAGE = """<!doctype html><title>loading</title><script src="fake.js"></script><script>
webkiln.fake.load().then(async model =>
  [model.backend, model.worker, [...(await model.run([1, 2, 3, 4])).y]])
  .then(got => { document.title = JSON.stringify(got); },
    error => { document.title = String(error); });
</script>"""


@every_page
def test_a_single_file_runs_from_a_disk(
    browser: str, bundles: dict[str, Path], tmp_path: Path
) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    from webkiln.backends import browsers

    folder = shutil.copytree(bundles["single"], tmp_path / "disk")
    (folder / "page.html").write_text(FILE_PAGE)
    session = browsers.session(browser)
    session.get((folder / "page.html").as_uri())
    WebDriverWait(session, 30).until(lambda driver: driver.title != "loading")
    title = session.title
    session.get("about:blank")
    assert title.startswith("["), title
    assert json.loads(title) == ["wasm", True, Y]


RECIPES = {
    'format = "zip"': "unknown format 'zip'; valid: folder, npm, single",
    'format = "npm"': "an npm package needs a name and a version",
    'format = "single"\nhashed = true': "hashed has nothing to rename",
    '[package]\nname = "My Model"': (
        "package.name is 'My Model', which npm does not take; expected such as @me/model"
    ),
    '[package]\nversion = "1.2"': "package.version is '1.2', which npm does not take",
    '[package]\nauthor = "me"': (
        "unknown key in package 'author'; valid: name, version, license, description"
    ),
    'hashed = "yes"': "hashed is 'yes', expected true or false",
}


@pytest.mark.parametrize("lines", RECIPES)
def test_invalid_recipes_are_errors(lines: str, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(f'source = "x.keras"\n{lines}\n')
    with pytest.raises(RecipeError) as caught:
        read_recipe(tmp_path / "recipe.toml")
    assert RECIPES[lines] in str(caught.value)


def test_the_form_of_a_recipe_is_used(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(
        'source = "x.keras"\nformat = "npm"\nhashed = true\n[package]\nname = "@me/fake"\nversion ='
        ' "1.2.3-rc.1"\n'
    )
    assert read_recipe(tmp_path / "recipe.toml").bundle.form == Form(
        "npm", hashed=True, package={"name": "@me/fake", "version": "1.2.3-rc.1"}
    )


def test_a_single_file_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import webkiln.codegen.bundles

    monkeypatch.setattr(webkiln.codegen.bundles, "MAX_INLINED", 1000)
    with pytest.raises(
        RecipeError,
        match=(
            r"fake: its data has \d+ bytes, and a single file may have at most 1000; build a folder"
        ),
    ):
        fake_bundle.build(tmp_path, form=FORMS["single"])
