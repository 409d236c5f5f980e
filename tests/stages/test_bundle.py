"""The bundle stage: the same bytes everywhere, small, typed; inconsistent inputs are rejected."""

import hashlib
import json
import re
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import brotli
import pytest

from tests.runtime import fake_bundle
from webkiln import canonical
from webkiln.build.names import BY_BYTES, bundle_files, may_be_published
from webkiln.codegen import declarations
from webkiln.codegen.scripts import compact, strip_comments
from webkiln.errors import RecipeError
from webkiln.recipe.form import Form

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
        assert entry == {
            "bytes": (bundle / name).stat().st_size,
            "sha256": canonical.file_digest(bundle / name),
        }


def test_manifest_seals_all_loaded_files(bundle: Path) -> None:
    manifest = canonical.read(bundle / "manifest.json")
    for item in (*manifest["shards"], *manifest["backends"]["wasm"]["variants"]):
        data = (bundle / item["file"]).read_bytes()
        pieces = [
            hashlib.sha256(data[start : start + (256 << 10)]).digest()
            for start in range(0, len(data), 256 << 10)
        ]
        assert (item["bytes"], item["digest"]) == (
            len(data),
            hashlib.sha256(b"".join(pieces)).hexdigest(),
        )
    assert max(item["bytes"] for item in manifest["shards"]) > 256 << 10


def test_published_files_are_allowed_by_name(bundle: Path) -> None:
    backends = canonical.read(bundle / "manifest.json")["backends"]
    assert {path.name for path in bundle.iterdir() if not BY_BYTES.fullmatch(path.name)} == set(
        bundle_files("fake", backends)
    )
    assert all(may_be_published(path.name) for path in bundle.iterdir())


def test_runtime_is_small(bundle: Path) -> None:
    shared = ("index.js", "runtime.js", "worker.js", "webdnn.js")
    assert sum(len(brotli.compress((bundle / name).read_bytes())) for name in shared) < 21_000


def test_bundles_contain_no_eval_and_no_comments(bundle: Path) -> None:
    for path in bundle.glob("*.js"):
        assert not re.search(
            r"\beval\(|new Function|/\*\*|^\s*//", path.read_text(), re.MULTILINE
        ), path.name


def test_package_and_labels(bundle: Path) -> None:
    package = json.loads((bundle / "package.json").read_text())
    assert (package["name"], package["type"]) == ("fake", "module")
    assert re.fullmatch(r"\d+\.\d+\.\d+-b[0-9a-f]{12}", package["version"])
    for target in package["exports"].values():
        conditions = target if isinstance(target, dict) else {"default": target}
        assert next(iter(conditions)) == "types" or target == "./manifest.json"
        assert all((bundle / file).exists() for file in conditions.values())
    (output,) = canonical.read(bundle / "manifest.json")["outputs"]
    assert output["labels"] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("labels", "part"),
    [
        (["a", "b"], "2 labels match the last axis of no output (y [1, 4])"),
        ({"z": ["a"]}, "the outputs are y"),
        ({"y": ["a"]}, "1 labels for"),
    ],
)
def test_invalid_labels_are_errors(labels: Any, part: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=re.escape(part)):
        fake_bundle.build(tmp_path, labels=labels)


def test_labels_by_output(tmp_path: Path) -> None:
    bundle = fake_bundle.build(tmp_path, labels={"y": ["p", "q", "r", "s"]})
    assert canonical.read(bundle / "manifest.json")["outputs"][0]["labels"] == ["p", "q", "r", "s"]


USER = """
import { load, manifest, top, WebkilnError } from 'fake';
import WebDNN from 'fake/webdnn';
import { fetchParts, loadSync, type Parts } from 'fake/sync';
const label: 'a' = manifest.outputs[0].labels[0];
const model = await load({ backends: ['wasm', 'js'], variant: 'simd' });
const { y }: { y: Float32Array } = await model.run({ x: [1, 2, 3, 4] });
await model.run(new Float32Array(4));
await model.run([[1, 2, 3, 4]]);
await model.run({ x: [new Float32Array(4)] });
const [best] = top(y, 5), named: string = best.label;
const parts: Parts = await fetchParts({ variant: 'simd' });
const direct: Float32Array = loadSync(parts).run([[1, 2, 3, 4]]).y;
loadSync({ module: new WebAssembly.Module(new Uint8Array(8)), weights: [new ArrayBuffer(4)] });
// @ts-expect-error the weights are missing
loadSync({ module: parts.module });
// @ts-expect-error there is no signal
loadSync(parts).run({ x: direct }, { signal: null });
const runner = await WebDNN.load('./fake');
runner.inputs[0].set([1, 2, 3, 4]);
// @ts-expect-error there is no such option
await load({ backend: 'wasm' });
// @ts-expect-error rows of another type
await model.run({ x: [['1', '2']] });
// @ts-expect-error there is no such input
await model.run({ z: y });
// @ts-expect-error there is no such backend
await load({ backends: ['cuda'] });
// @ts-expect-error there is no such output
(await model.run({ x: y })).scores;
console.log(label, named, WebkilnError);
"""


def test_types_are_literal(tmp_path: Path) -> None:
    if not TSC.exists():
        pytest.fail("TypeScript is missing: run `npm ci` in runtime/")
    bundle = fake_bundle.build(tmp_path)
    compile_types(tmp_path, bundle, USER)


@pytest.mark.parametrize("libraries", ["es2022,dom", "es2022,webworker", "esnext,dom"])
@pytest.mark.sample(1)
def test_types_of_dtypes_and_images(libraries: str, tmp_path: Path) -> None:
    """In environments with and without the classes of pages and of float16 arrays."""
    bundle = fake_bundle.build(tmp_path, labels=None)
    tensor = {"shape": [1, 2, 2, 3], "order": "NHWC"}
    tensors = [{**tensor, "name": dtype, "dtype": dtype} for dtype in declarations.ARRAYS]
    manifest = canonical.read(bundle / "manifest.json")
    images = {
        "uint8": {
            "size": None,
            "fit": "crop",
            "color": "RGB",
            "mean": 0.0,
            "scale": 1.0,
            "layout": "HWC",
        }
    }
    described = {**manifest, "inputs": stage.with_images(tensors, images), "outputs": tensors}
    (bundle / "index.d.ts").write_text(declarations.index_types(described))
    user = """
import { load, type Inputs } from 'fake';
declare const others: Omit<Inputs, 'uint8' | 'bool' | 'int64' | 'float16'>;
const given = { uint8: new Uint8ClampedArray(12), bool: [true, false],
  int64: [1n], float16: [0.5] };
const outputs = await (await load()).run({ ...others, ...given });
outputs.uint8 satisfies Uint8Array;
await (await load()).run({ ...others, ...given, float16: new Float32Array(12) });
// @ts-expect-error not a string
await (await load()).run({ ...others, ...given, uint8: 'image.png' });
"""
    user += "await (await load()).run({ ...others, ...given, uint8: new ImageData(2, 2) });\n"
    if "esnext" in libraries:
        user += (
            "await (await load()).run({ ...others, ...given, float16: new Float16Array(12) });\n"
        )
    compile_types(tmp_path, bundle, user, "--lib", libraries)


def compile_types(folder: Path, bundle: Path, text: str, *arguments: str) -> None:
    """Type-check a program that has the bundle installed as a package."""
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "fake").symlink_to(bundle)
    user = folder / "user.ts"
    user.write_text(text)
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
    done = subprocess.run(
        [str(TSC), *options, *arguments, str(user)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_flatten_preserves_strings_and_expressions() -> None:
    text = (
        "/** a */\nconst a = '// no /* comment */';  // gone\nconst b = `${a} // kept`;\n/* gone */"
        " const c = a.replace(/\\/*$/, '/');\n"
    )
    preserved = (
        "const a = '// no /* comment */';\nconst b = `${a} // kept`;\nconst c = a.replace(/\\/*$/,"
        " '/');\n"
    )
    assert compact(strip_comments(text)) == preserved


def test_names_in_two_modules_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("import { b } from './b.js';\nconst twice = b;\n")
    (tmp_path / "b.js").write_text("const twice = 1;\nexport const b = twice;\n")
    with pytest.raises(stage.InternalError, match=r"a\.js and b\.js both declare twice"):
        stage.flatten(tmp_path, ["a"], {})


def test_runs_by_hand(tmp_path: Path) -> None:
    fake_bundle.build(tmp_path)
    inputs = {f"program.{b}.json": f"program.{b}.json" for b in ("js", "wasm")} | {
        f"code.{b}/": f"code.{b}" for b in ("js", "wasm")
    }
    inputs |= {
        "wasm.simd": "simd.wasm",
        "wasm.relaxed": "relaxed.wasm",
        "shards/": "shards",
        "shards.json": "shards.json",
    }
    params = {
        "name": "fake",
        "backends": ["js"],
        "variants": {},
        "encoding": "float32",
        "labels": None,
        "form": asdict(Form()),
    }
    spec = {
        "inputs": {k: str(tmp_path / v) for k, v in inputs.items()},
        "outputs": {"bundle/": str(tmp_path / "out")},
        "params": params,
    }
    canonical.write(tmp_path / "spec.json", spec)
    import sys

    script = str(fake_bundle.ROOT / "stages" / "bundle.py")
    subprocess.run([sys.executable, script, str(tmp_path / "spec.json")], check=True, timeout=60)
    assert list(canonical.read(tmp_path / "out" / "manifest.json")["backends"]) == ["js"]


IMAGE = {"size": None, "fit": "stretch", "color": "RGB", "mean": 0.0, "scale": 1.0, "layout": "HWC"}


@pytest.mark.parametrize(
    ("tensor", "image", "part"),
    [
        ({"name": "y"}, {}, "inputs: there is no input x; the inputs are y"),
        (
            {"shape": [1, 3, 4, 5]},
            {},
            (
                "inputs.x: an image of color RGB and layout HWC fits [1, H, W, 3], and the input is"
                " [1, 3, 4, 5]"
            ),
        ),
        ({"shape": [1, 4, 5, 3]}, {"layout": "CHW"}, "fits [1, 3, H, W]"),
        ({"shape": [1, 4, 5, 3]}, {"color": "GREY"}, "fits [1, H, W, 1]"),
        ({"shape": [2, 4, 5, 3]}, {}, "fits [1, H, W, 3], and the input is [2, 4, 5, 3]"),
        ({"shape": [4, 5]}, {}, "fits [1, H, W, 3], and the input is [4, 5]"),
        ({}, {"size": [5, 4]}, "inputs.x: size is [5, 4], and the input is [1, 4, 5, 3]"),
        ({"dtype": "float16"}, {}, "the input is float16, expected one of float32, uint8, int32"),
        (
            {"dtype": "uint8"},
            {"scale": 255.0},
            "the input is uint8, which holds unscaled pixels: without mean, scale and GREY",
        ),
    ],
)
def test_invalid_images_are_errors(
    tensor: dict[str, Any], image: dict[str, Any], part: str
) -> None:
    described = {"name": "x", "dtype": "float32", "shape": [1, 4, 5, 3], **tensor}
    with pytest.raises(RecipeError, match=re.escape(part)):
        stage.with_images([described], {"x": {**IMAGE, **image}})


def test_an_image_has_the_size_of_its_input() -> None:
    def size(shape: list[int | str], layout: str, requested: list[int] | None = None) -> Any:
        described = {"name": "x", "dtype": "float32", "shape": shape}
        return stage.with_images(
            [described], {"x": {**IMAGE, "layout": layout, "size": requested}}
        )[0]["image"]["size"]

    assert size([1, 4, 5, 3], "HWC") == [4, 5]
    assert size(["N", 3, 4, 5], "CHW") == [4, 5]
    assert size([1, "H", "W", 3], "HWC") == ["H", "W"]
    assert size([1, "H", "W", 3], "HWC", [64, 32]) == [64, 32]
