"""`webkiln init`: what it writes into projects as their tools make them, that it leaves the rest
alone, and that what it writes works.
"""

import json
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from selenium.webdriver.support.wait import WebDriverWait

from tests.frontends.onnx.models import model
from tests.runtime.fake_bundle import ROOT
from webkiln import cli
from webkiln.backends import browsers
from webkiln.backends.server import Server
from webkiln.build import backends
from webkiln.commands import build
from webkiln.commands.additions import plugin

VITE_PACKAGE = """{
  "name": "app",
  "private": true,
  "version": "0.0.0",
  "type": "module",
  "scripts": {
    "dev": "vite",
    "build": "vite build"
  },
  "devDependencies": {
    "vite": "^8.3.4"
  }
}
"""
INDEX = """<!doctype html>
<html lang="en">
  <body>
    <div id="app"></div>
    <script type="module" src="/src/main.ts"></script>
  </body>
</html>
"""
TSCONFIG = """{
  "compilerOptions": {
    "target": "es2023", "module": "esnext", "lib": ["ES2023", "DOM"], "types": [], "skipLibCheck": true,

    /* Bundler mode */
    "moduleResolution": "bundler", "allowImportingTsExtensions": true, "verbatimModuleSyntax": true, "moduleDetection": "force", "noEmit": true,
    "strict": true, "noUnusedLocals": true, "noUnusedParameters": true, "erasableSyntaxOnly": true, "noFallthroughCasesInSwitch": true
  },
  "include": ["src"]
}
"""


DOUBLED = """import keras


@keras.saving.register_keras_serializable(name="Doubled")
class Doubled(keras.layers.Layer):
    def call(self, x):
        return x * 2
"""


def config(name: str, imported: str) -> str:
    return (
        f"import {imported} from '@vitejs/plugin-{name}'\nimport {{ defineConfig }} from"
        " 'vite'\n\n// https://vite.dev/config/\nexport default defineConfig({\n  plugins:"
        f" [{name}()],\n}})\n"
    )


VITE = {"package.json": VITE_PACKAGE, "index.html": INDEX, "src/main.ts": ""}
NEXT = {
    "package.json": (
        '{\n  "name": "nx",\n  "scripts": {\n    "dev": "next dev",\n    "build": "next build"\n '
        ' },\n  "dependencies": {\n    "next": "16.4.6"\n  }\n}\n'
    )
}
PROJECTS: dict[str, dict[str, str]] = {
    "vanilla": VITE,
    "vanilla-ts": {**VITE, "tsconfig.json": TSCONFIG},
    "react-ts": {
        **VITE,
        "tsconfig.json": '{ "files": [] }',
        "vite.config.ts": config("react", "react"),
    },
    "vue": {**VITE, "vite.config.js": config("vue", "vue")},
    "next-ts": {**NEXT, "tsconfig.json": "{}", "src/app/page.tsx": ""},
    "next-pages": {**NEXT, "pages/index.jsx": ""},
    "webpack-ts": {
        "package.json": '{\n  "devDependencies": {\n    "webpack": "5"\n  }\n}\n',
        "src/main.ts": "",
        "tsconfig.json": TSCONFIG,
    },
    "html": {"index.html": "<!doctype html>\n<title>Mine</title>\n"},
}
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


class Folder:
    """A project and the command line in it."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.capsys = capsys

    def fill(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def files(self) -> dict[str, bytes]:
        """All files but those of bundles."""
        found = {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file()
        }
        return {
            name: data
            for name, data in found.items()
            if "webkiln/digits" not in name and "dist/" not in name
        }

    def text(self, name: str) -> str:
        return (self.root / name).read_text()

    def init(self, *arguments: str, status: int = 0) -> str:
        self.capsys.readouterr()
        assert cli.main(["init", *arguments]) == status, self.capsys.readouterr().err
        told = self.capsys.readouterr()
        return told.out if status == 0 else told.err


@pytest.fixture
def folder(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    monkeypatch.setenv("WEBKILN_CACHE", str(cache))
    return Folder(tmp_path / "app", capsys)


@pytest.mark.parametrize("kind", PROJECTS)
def test_init_reports_its_changes_and_is_idempotent(kind: str, folder: Folder) -> None:
    folder.fill(PROJECTS[kind])
    before = folder.files()
    dry = folder.init("--dry-run")
    assert folder.files() == before
    told = folder.init()
    after = folder.files()
    assert set(after) - set(before) == WRITTEN[kind]
    assert {name for name in before if after[name] != before[name]} == CHANGED[kind]
    assert {
        line.split()[1] for line in told.splitlines() if line.startswith("  wrote ")
    } == WRITTEN[kind]
    assert {
        line.split()[1].rstrip(":") for line in told.splitlines() if line.startswith("  changed ")
    } == CHANGED[kind]
    assert {
        line.split()[2].rstrip(":") for line in dry.splitlines() if line.startswith("  would ")
    } == WRITTEN[kind] | CHANGED[kind]
    again = folder.init()
    assert folder.files() == after
    assert "  wrote " not in again
    assert "  changed " not in again
    assert "kept" not in again


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
    needed = (
        '  "devDependencies": {\n    "unplugin-webkiln":'
        ' "file:vendor/unplugin-webkiln-0.1.0.tgz",\n    "vite": "^8.3.4"\n  }\n}\n'
    )
    assert folder.text("package.json").endswith(needed)
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
    old, mine = (
        '"unplugin-webkiln": "file:vendor/unplugin-webkiln-0.0.9.tgz"',
        '"unplugin-webkiln": "^0.0.9"',
    )
    for entry, changed in ((old, True), (mine, False)):
        folder.fill({**VITE, "package.json": VITE_PACKAGE.replace('"vite":', f'{entry}, "vite":')})
        folder.init()
        assert (entry not in folder.text("package.json")) == changed
    folder.fill(
        {
            **VITE,
            "package.json": VITE_PACKAGE.replace(
                '"devDependencies"', f'"dependencies": {{ {mine} }},\n  "devDependencies"'
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
    told = folder.init()
    assert (
        'skipped    package.json; add by hand: "predev": "webkiln build digits -o'
        ' src/webkiln/digits" among its scripts' in told
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
    told = folder.init()
    assert "kept       src/model.js, which has other content; --force overwrites it" in told
    assert folder.text("src/model.js") == "mine"
    assert "backends" in folder.text("models/digits/recipe.toml"), (
        "and the recipe that is there is the one that is built"
    )
    assert "overwrote  src/model.js" in folder.init("--force")
    assert folder.text("src/model.js") != "mine"


def net(path: Path, names: tuple[str, str] = ("x", "y")) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in names]
    weight = helper.make_tensor(
        "w", TensorProto.FLOAT, [3], np.ones(3, np.float32).tobytes(), raw=True
    )
    onnx.save(
        model(
            [helper.make_node("Mul", [names[0], "w"], [names[1]])], values[:1], values[1:], [weight]
        ),
        path,
    )
    return path


@pytest.mark.parametrize(
    ("place", "beside", "source"),
    [
        ("app/assets/net.onnx", "", "../../assets/net.onnx"),
        ("elsewhere/net.onnx", "", "net.onnx"),
        ("elsewhere/net.onnx", "net.onnx.data", "../../../elsewhere/net.onnx"),
    ],
)
def test_a_model_file_gets_a_recipe_and_a_page(
    place: str, beside: str, source: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "missing_compilers", lambda: ["no emcc"])
    monkeypatch.setattr(build, "missing_compilers", lambda: ["no emcc"])
    folder.fill(PROJECTS["html"])
    path = net(folder.root.parent / place)
    if beside:
        onnx.save(
            onnx.load(path), path, save_as_external_data=True, location=beside, size_threshold=0
        )
    folder.init(str(path))
    assert folder.text("models/net/recipe.toml") == f'source = "{source}"\n'
    assert (folder.root / "models" / "net" / source).resolve().read_bytes() == path.read_bytes()
    assert "x: Float32Array.from({ length: 3 }, (_, at) => (at * 0.618 + 0.5) % 1)," in folder.text(
        "model.js"
    )
    assert "Array.from(outputs.y.slice(0, 5), Number)" in folder.text("model.js")


def test_a_model_outside_the_project_is_copied(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "missing_compilers", lambda: ["no emcc"])
    monkeypatch.setattr(build, "missing_compilers", lambda: ["no emcc"])
    folder.fill(PROJECTS["html"])
    net(folder.root.parent / "elsewhere" / "net.onnx")
    folder.init("../elsewhere/net.onnx")
    assert folder.text("models/net/recipe.toml") == 'source = "net.onnx"\n'


def test_a_second_model_is_typed_and_its_import_is_printed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "missing_compilers", lambda: ["no emcc"])
    folder.fill(PROJECTS["vanilla-ts"])
    folder.init()
    net(folder.root / "net.onnx")
    told = folder.init("net.onnx")
    assert "changed    src/webkiln-env.d.ts: types" in told
    assert "import { load } from 'webkiln:net' in your code" in told
    types = folder.text("src/webkiln-env.d.ts")
    assert (
        types.index('declare module "webkiln:digits"')
        < types.index('declare module "webkiln:net"')
        < types.index("declare module 'webkiln:*'")
    )


def test_other_bundlers_get_the_plugin_and_printed_instructions(folder: Folder) -> None:
    folder.fill(PROJECTS["webpack-ts"])
    told = folder.init()
    assert (
        "import webkiln from 'unplugin-webkiln/webpack', and webkiln({ types:"
        " 'src/webkiln-env.d.ts' }) among the plugins" in told
    )
    assert "import { load } from 'webkiln:digits' in your code" in told
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
    named = json.loads(folder.text("package.json"))["devDependencies"]["unplugin-webkiln"]
    assert (folder.root / named.removeprefix("file:")).is_file()
    before = folder.text("package.json")
    folder.init()
    assert folder.text("package.json") == before


@pytest.mark.long
def test_plugins_and_trust_are_written_to_the_recipe(folder: Folder) -> None:
    import keras

    from tests.commands.models import Doubled

    folder.fill({**PROJECTS["html"], "layers.py": DOUBLED})
    x = keras.Input((4,), name="x")
    doubled = keras.layers.Lambda(lambda value: value * 2, output_shape=(4,), name="code")(
        Doubled(name="own")(x)
    )
    keras.Model(x, doubled).save(folder.root / "code.keras")
    assert "--trust-source" in folder.init("code.keras", status=2)
    folder.init("code.keras", "--trust-source", "--plugin", "layers.py")
    assert (
        folder.text("models/code/recipe.toml")
        == 'source = "../../code.keras"\nplugins = ["../../layers.py"]\ntrust_source = true\n'
    )


def test_skipped_changes_come_first_in_the_next_steps(folder: Folder) -> None:
    folder.fill({**PROJECTS["vue"], "vite.config.js": "export default () => ({ plugins: [] })\n"})
    told = folder.init()
    assert (
        told.index("skipped    vite.config.js")
        < told.index("Next:")
        < told.index("add by hand what was skipped")
        < told.index("npm install")
    )


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        (
            {},
            (),
            (
                "no web project found: no vite, next or other bundler in package.json, no vite.config.js or"
            ),
        ),
        ({"package.json": "{"}, (), "package.json is not JSON"),
        (
            PROJECTS["html"],
            ("digit",),
            "digit: no such file; give the path of a model file, such as my.keras,",
        ),
        (PROJECTS["html"], ("index.html",), "index.html"),
        ({**PROJECTS["html"], "broken.keras": "no model"}, ("broken.keras",), "broken.keras"),
        (
            PROJECTS["html"],
            ("resnet50",),
            "resnet50 is included in webkiln and needs no recipe; import it as 'webkiln:resnet50'",
        ),
    ],
)
def test_failures_leave_the_project_unchanged(
    files: dict[str, str], arguments: tuple[str, ...], message: str, folder: Folder
) -> None:
    folder.fill(files)
    before = folder.files()
    assert message in folder.init(*arguments, status=2)
    assert folder.files() == before


def test_uncertain_edits_are_printed_instead(folder: Folder) -> None:
    folder.fill({**PROJECTS["vue"], "vite.config.js": "export default { plugins: common }\n"})
    told = folder.init()
    assert (
        "skipped    vite.config.js; add by hand: import webkiln from 'unplugin-webkiln/vite', and"
        " webkiln() among its plugins" in told
    )
    assert folder.text("vite.config.js") == "export default { plugins: common }\n"
