"""The bundle stage: the same bytes everywhere, small, typed, and refusing what does not fit together."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import brotli
import pytest

from tests.runtime import fake_bundle
from webkiln import canonical
from webkiln.build.names import BLOB, bundle_files, may_be_published
from webkiln.codegen.scripts import compact, strip_comments
from webkiln.errors import RecipeError

TSC = fake_bundle.ROOT / "runtime" / "node_modules" / ".bin" / "tsc"
stage = fake_bundle.stage("bundle")


def test_two_folders_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = (fake_bundle.build(tmp_path / name) for name in ("a", "b"))
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


def test_manifest_lists_every_file(bundle: Path) -> None:
    files = canonical.read(bundle / "manifest.json")["files"]
    assert set(files) == {path.name for path in bundle.iterdir()} - {"manifest.json"}
    for name, entry in files.items():
        assert entry == {"bytes": (bundle / name).stat().st_size, "sha256": canonical.file_digest(bundle / name)}


def test_publishing_knows_its_files_by_name(bundle: Path) -> None:
    backends = canonical.read(bundle / "manifest.json")["backends"]
    assert {path.name for path in bundle.iterdir() if not BLOB.fullmatch(path.name)} == set(bundle_files(backends))
    assert all(may_be_published(path.name) for path in bundle.iterdir())


def test_runtime_is_small(bundle: Path) -> None:
    shared = ("index.js", "runtime.js", "worker.js", "webdnn.js")
    assert sum(len(brotli.compress((bundle / name).read_bytes())) for name in shared) < 12_300


def test_no_code_from_text(bundle: Path) -> None:
    for path in bundle.glob("*.js"):
        assert not re.search(r"\beval\(|new Function|/\*\*|^\s*//", path.read_text(), re.MULTILINE), path.name


def test_package_and_labels(bundle: Path) -> None:
    package = json.loads((bundle / "package.json").read_text())
    assert (package["name"], package["type"]) == ("fake", "module")
    assert all((bundle / target).exists() for target in ("index.js", "index.d.ts", "webdnn.js", "manifest.json"))
    (output,) = canonical.read(bundle / "manifest.json")["outputs"]
    assert output["labels"] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("labels", "part"),
    [
        (["a", "b"], "2 labels fit the last axis of no output (y [1, 4])"),
        ({"z": ["a"]}, "the outputs are y"),
        ({"y": ["a"]}, "1 labels for"),
    ],
)
def test_labels_that_do_not_fit(labels: Any, part: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=re.escape(part)):
        fake_bundle.build(tmp_path, labels=labels)


def test_labels_by_output(tmp_path: Path) -> None:
    bundle = fake_bundle.build(tmp_path, labels={"y": ["p", "q", "r", "s"]})
    assert canonical.read(bundle / "manifest.json")["outputs"][0]["labels"] == ["p", "q", "r", "s"]


USER = """
import { load, manifest, WebkilnError } from './index.js';
const label: 'a' = manifest.outputs[0].labels[0];
const model = await load({ backends: ['wasm', 'js'], variant: 'simd' });
const { y }: { y: Float32Array } = await model.run({ x: [1, 2, 3, 4] });
// @ts-expect-error there is no such input
await model.run({ z: y });
// @ts-expect-error there is no such backend
await load({ backends: ['cuda'] });
// @ts-expect-error there is no such output
(await model.run({ x: y })).scores;
console.log(label, WebkilnError);
"""


def test_types_are_literal(tmp_path: Path) -> None:
    if not TSC.exists():
        pytest.fail("TypeScript is missing: run `npm ci` in runtime/")
    bundle = fake_bundle.build(tmp_path)
    (bundle / "user.ts").write_text(USER)
    options = [
        "--strict",
        "--noEmit",
        "--target",
        "es2022",
        "--module",
        "es2022",
        "--moduleResolution",
        "bundler",
        "--skipLibCheck",
        "false",
    ]
    done = subprocess.run([str(TSC), *options, str(bundle / "user.ts")], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


def test_flatten_keeps_strings_and_expressions() -> None:
    text = "/** a */\nconst a = '// no /* comment */';  // gone\nconst b = `${a} // kept`;\n/* gone */ const c = a.replace(/\\/*$/, '/');\n"
    kept = "const a = '// no /* comment */';\nconst b = `${a} // kept`;\nconst c = a.replace(/\\/*$/, '/');\n"
    assert compact(strip_comments(text)) == kept


def test_names_in_two_modules_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("import { b } from './b.js';\nconst twice = b;\n")
    (tmp_path / "b.js").write_text("const twice = 1;\nexport const b = twice;\n")
    with pytest.raises(stage.InternalError, match=r"a\.js and b\.js both declare twice"):
        stage.flatten(tmp_path, "a", {})


def test_runs_by_hand(tmp_path: Path) -> None:
    fake_bundle.build(tmp_path)
    inputs = {f"program.{b}.json": f"program.{b}.json" for b in ("js", "wasm")} | {f"code.{b}/": f"code.{b}" for b in ("js", "wasm")}
    inputs |= {"wasm.simd": "simd.wasm", "wasm.relaxed": "relaxed.wasm", "shards/": "shards", "shards.json": "shards.json"}
    params = {"name": "fake", "backends": ["js"], "variants": [], "encoding": "float32", "labels": None}
    spec = {"inputs": {k: str(tmp_path / v) for k, v in inputs.items()}, "outputs": {"bundle/": str(tmp_path / "out")}, "params": params}
    canonical.write(tmp_path / "spec.json", spec)
    import sys

    script = str(fake_bundle.ROOT / "stages" / "bundle.py")
    subprocess.run([sys.executable, script, str(tmp_path / "spec.json")], check=True, timeout=60)
    assert list(canonical.read(tmp_path / "out" / "manifest.json")["backends"]) == ["js"]
