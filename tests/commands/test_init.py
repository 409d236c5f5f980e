"""`webkiln init` in projects of each kind: its changes, and that the resulting project works."""

import json
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver.support.wait import WebDriverWait

from tests.commands.web_project import NEXT, PROJECTS, VITE, VITE_PACKAGE, Folder, config
from tests.runtime.fake_bundle import ROOT
from webkiln import cli
from webkiln.backends import browsers
from webkiln.backends.server import Server
from webkiln.commands.additions import plugin

MODEL = {"models/digits/recipe.toml", "models/digits/digits.keras"}
PLUGIN = {"vendor/unplugin-webkiln-0.1.0.tgz"}
WRITTEN: dict[str, set[str]] = {
    "vanilla": MODEL | PLUGIN | {"vite.config.js", "src/model.js"},
    "vanilla-ts": MODEL | PLUGIN | {"vite.config.ts", "src/model.ts", "src/webkiln-env.d.ts"},
    "react-ts": MODEL | PLUGIN | {"src/model.ts", "src/webkiln-env.d.ts"},
    "vue": MODEL | PLUGIN | {"src/model.js"},
    "next-ts": MODEL | {"src/app/model/page.tsx", "src/webkiln/.gitignore"},
    "next-pages": MODEL | {"pages/model.jsx", "webkiln/.gitignore"},
    "webpack-ts": MODEL | PLUGIN | {"src/webkiln-env.d.ts"},
    "html": MODEL | {"dodo.py", "model.html", "model.js"},
}
CHANGED = {
    "vanilla": {"package.json", "index.html"},
    "vanilla-ts": {"package.json", "index.html"},
    "react-ts": {"package.json", "index.html", "vite.config.ts"},
    "vue": {"package.json", "index.html", "vite.config.js"},
    "next-ts": {"package.json"},
    "next-pages": {"package.json"},
    "webpack-ts": {"package.json"},
    "html": set[str](),
}


@pytest.mark.parametrize("kind", PROJECTS)
def test_init_reports_its_changes_and_is_idempotent(kind: str, folder: Folder) -> None:
    folder.fill(PROJECTS[kind])
    before = folder.files()
    dry = folder.init("--dry-run")
    assert folder.files() == before
    printed = folder.init()
    after = folder.files()
    assert set(after) - set(before) == WRITTEN[kind]
    assert {name for name in before if after[name] != before[name]} == CHANGED[kind]
    assert {
        line.split()[1] for line in printed.splitlines() if line.startswith("  wrote ")
    } == WRITTEN[kind]
    assert {
        line.split()[1].rstrip(":")
        for line in printed.splitlines()
        if line.startswith("  changed ")
    } == CHANGED[kind]
    assert {
        line.split()[2].rstrip(":") for line in dry.splitlines() if line.startswith("  would ")
    } == WRITTEN[kind] | CHANGED[kind]
    second = folder.init()
    assert folder.files() == after
    assert "  wrote " not in second
    assert "  changed " not in second
    assert "kept" not in second


def test_vite_projects_get_the_plugin_and_a_module(folder: Folder) -> None:
    folder.fill(PROJECTS["react-ts"])
    folder.init()
    assert (
        folder.text("vite.config.ts")
        == "import react from '@vitejs/plugin-react'\nimport { defineConfig } from 'vite'\nimport"
        " webkiln from 'unplugin-webkiln/vite'\n\n// https://vite.dev/config/\nexport default"
        " defineConfig({\n  plugins: [webkiln({ types: 'src/webkiln-env.d.ts' }),"
        " react()],\n})\n"
    )
    expected_end = (
        '  "devDependencies": {\n    "unplugin-webkiln":'
        ' "file:vendor/unplugin-webkiln-0.1.0.tgz",\n    "vite": "^8.3.4"\n  }\n}\n'
    )
    assert folder.text("package.json").endswith(expected_end)
    assert folder.text("package.json").startswith(VITE_PACKAGE[:100])
    assert '    <script type="module" src="/src/model.ts"></script>\n  </body>' in folder.text(
        "index.html"
    )
    assert "import { load, top } from 'webkiln:digits';" in folder.text("src/model.ts")
    assert folder.text("models/digits/recipe.toml").startswith(
        'source = "digits.keras"\n\n[labels]\nscores = ["0", '
    )


def test_written_modules_type_check(folder: Folder) -> None:
    folder.fill(PROJECTS["vanilla-ts"])
    folder.init()
    compiler = ROOT / "runtime" / "node_modules" / ".bin" / "tsc"

    def check() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(compiler), "--project", "."],
            cwd=folder.root,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    done = check()
    assert done.returncode == 0, done.stdout
    page = folder.root / "src" / "model.ts"
    page.write_text(page.read_text().replace("outputs.scores", "outputs.score"))
    assert "Property 'score' does not exist on type 'Outputs'" in check().stdout


def test_the_types_equal_those_of_the_plugin(folder: Folder) -> None:
    folder.fill(PROJECTS["vanilla-ts"])
    folder.init()
    before = folder.text("src/webkiln-env.d.ts")
    cli.main(["build", "digits", "--output", str(folder.root / "bundle"), "--backend", "wasm,js"])
    types = f"import {{ Types }} from '{ROOT}/runtime/unplugin/src/types.js';"
    for adds in (
        "new Types('src/webkiln-env.d.ts')",
        "Object.assign(new Types('other.d.ts'), { file: 'other.d.ts' })",
    ):
        script = f"{types} ({adds}).add('webkiln:digits', 'bundle');"
        subprocess.run(
            ["node", "--input-type=module", "--eval", script],
            cwd=folder.root,
            timeout=60,
            check=True,
        )
    assert folder.text("src/webkiln-env.d.ts") == before, "the plugin leaves them as they are"
    assert folder.text("other.d.ts") == before


def test_the_packed_plugin_contains_the_files_that_npm_packs(tmp_path: Path) -> None:
    assert plugin() == plugin()
    (tmp_path / "plugin.tgz").write_bytes(plugin())
    with tarfile.open(tmp_path / "plugin.tgz") as archive:
        packed = {member.name for member in archive.getmembers()}
    command = ["npm", "pack", "--json", "--dry-run"]
    done = subprocess.run(
        command,
        cwd=ROOT / "runtime" / "unplugin",
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    (listed,) = json.loads(done.stdout)
    assert packed == {f"package/{file['path']}" for file in listed["files"]}


def test_next_builds_the_bundle_before_it_runs(folder: Folder) -> None:
    folder.fill(PROJECTS["next-ts"])
    folder.init()
    scripts = json.loads(folder.text("package.json"))["scripts"]
    assert scripts["predev"] == scripts["prebuild"] == "webkiln build digits -o src/webkiln/digits"
    assert cli.main(scripts["predev"].split()[1:]) == 0
    page = folder.text("src/app/model/page.tsx")
    assert page.startswith("'use client';\n")
    (line,) = (line for line in page.splitlines() if "load, top" in line)
    assert (folder.root / "src/app/model" / line.split("'")[1]).is_file()
    assert folder.text("src/webkiln/.gitignore") == "*\n!.gitignore\n"


def test_the_configuration_that_vite_reads_is_edited(folder: Folder) -> None:
    folder.fill({**PROJECTS["react-ts"], "vite.config.js": config("react", "react")})
    folder.init()
    assert "unplugin-webkiln" in folder.text("vite.config.js")
    assert folder.text("vite.config.ts") == config("react", "react")


def test_line_endings_are_preserved(folder: Folder) -> None:
    folder.fill(PROJECTS["vue"])
    names = ("package.json", "index.html", "vite.config.js")
    for name in names:
        (folder.root / name).write_bytes(folder.text(name).replace("\n", "\r\n").encode())
    folder.init()
    before = folder.files()
    for name in names:
        assert before[name].count(b"\n") == before[name].count(b"\r\n") > 0, name
        assert b"webkiln" in before[name] or name == "index.html"
    folder.init()
    assert folder.files() == before


def test_a_newer_plugin_replaces_an_older_one(folder: Folder) -> None:
    old, custom = (
        '"unplugin-webkiln": "file:vendor/unplugin-webkiln-0.0.9.tgz"',
        '"unplugin-webkiln": "^0.0.9"',
    )
    for entry, changed in ((old, True), (custom, False)):
        folder.fill({**VITE, "package.json": VITE_PACKAGE.replace('"vite":', f'{entry}, "vite":')})
        folder.init()
        assert (entry not in folder.text("package.json")) == changed
    folder.fill(
        {
            **VITE,
            "package.json": VITE_PACKAGE.replace(
                '"devDependencies"', f'"dependencies": {{ {custom} }},\n  "devDependencies"'
            ),
        }
    )
    folder.init()
    assert folder.text("package.json").count("unplugin-webkiln") == 1


def test_user_scripts_are_preserved(folder: Folder) -> None:
    folder.fill(
        {
            **PROJECTS["next-ts"],
            "package.json": NEXT["package.json"].replace('"dev"', '"predev": "mine",\n    "dev"'),
        }
    )
    before = folder.text("package.json")
    printed = folder.init()
    assert (
        'skipped    package.json; add by hand: "predev": "webkiln build digits -o'
        ' src/webkiln/digits" among its scripts' in printed
    )
    assert folder.text("package.json") == before


def test_a_plain_page_runs(folder: Folder) -> None:
    folder.fill(PROJECTS["html"])
    folder.init()
    policy = (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src"
        " 'self'; img-src data:"
    )
    with Server({"/": folder.root}, headers={"Content-Security-Policy": policy}) as server:
        browser = browsers.session("chromium")
        browser.get(f"{server.url}/model.html")
        read = "return document.getElementById('webkiln')?.textContent ?? 'Loading'"
        WebDriverWait(browser, 30).until(
            lambda page: not page.execute_script(read).startswith("Loading")
        )
        line = browser.execute_script(read)
        browser.get("about:blank")
    with np.load(ROOT / "models" / "digits" / "test.npz") as archive:
        expected = archive["labels"][0]
    assert line.startswith(f"digits on wasm: {expected} (0.9"), line


def test_a_changed_file_is_overwritten_only_with_force(folder: Folder) -> None:
    folder.fill(
        {
            **PROJECTS["vanilla"],
            "src/model.js": "mine",
            "models/digits/recipe.toml": 'source = "digits.keras"\nbackends = ["js"]\n',
        }
    )
    printed = folder.init()
    assert "kept       src/model.js, which has other content; --force overwrites it" in printed
    assert folder.text("src/model.js") == "mine"
    assert "backends" in folder.text("models/digits/recipe.toml"), (
        "and the recipe that is there is the one that is built"
    )
    assert "overwrote  src/model.js" in folder.init("--force")
    assert folder.text("src/model.js") != "mine"


def test_other_bundlers_get_the_plugin_and_printed_instructions(folder: Folder) -> None:
    folder.fill(PROJECTS["webpack-ts"])
    printed = folder.init()
    assert (
        "import webkiln from 'unplugin-webkiln/webpack', and webkiln({ types:"
        " 'src/webkiln-env.d.ts' }) among the plugins" in printed
    )
    assert "import { load } from 'webkiln:digits' in your code" in printed
    archive = json.loads(folder.text("package.json"))["devDependencies"][
        "unplugin-webkiln"
    ].removeprefix("file:")
    assert (folder.root / archive).read_bytes() == plugin()
    assert 'declare module "webkiln:digits"' in folder.text("src/webkiln-env.d.ts")


def test_the_plugin_of_a_copied_example_is_replaced(folder: Folder) -> None:
    folder.fill(
        {path.name: path.read_text() for path in (ROOT / "examples" / "webpack").glob("*.js*")}
    )
    folder.init()
    source = json.loads(folder.text("package.json"))["devDependencies"]["unplugin-webkiln"]
    assert (folder.root / source.removeprefix("file:")).is_file()
    before = folder.text("package.json")
    folder.init()
    assert folder.text("package.json") == before


def test_skipped_changes_come_first_in_the_next_steps(folder: Folder) -> None:
    folder.fill({**PROJECTS["vue"], "vite.config.js": "export default () => ({ plugins: [] })\n"})
    printed = folder.init()
    assert (
        printed.index("skipped    vite.config.js")
        < printed.index("Next:")
        < printed.index("add by hand what was skipped")
        < printed.index("npm install")
    )


def test_uncertain_edits_are_printed_instead(folder: Folder) -> None:
    folder.fill({**PROJECTS["vue"], "vite.config.js": "export default { plugins: common }\n"})
    printed = folder.init()
    assert (
        "skipped    vite.config.js; add by hand: import webkiln from 'unplugin-webkiln/vite', and"
        " webkiln() among its plugins" in printed
    )
    assert folder.text("vite.config.js") == "export default { plugins: common }\n"
