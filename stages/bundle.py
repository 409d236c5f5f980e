"""Assemble the folder that is shipped to the web: code of the backends, weight shards and the
runtime.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.backends.launches import launches
from webkiln.build import stage
from webkiln.codegen.bundles import (
    MAX_INLINED,
    backend_modules,
    data_files,
    index_module,
    package,
    piecewise_digest,
    readme,
    runtime_modules,
    single_index,
    single_script,
    sync_backend,
    sync_module,
    worker_module,
)  # fmt: skip
from webkiln.codegen.declarations import index_types, text_of
from webkiln.codegen.device_programs import EMULATED
from webkiln.codegen.profiles import MODULE, profile_module
from webkiln.codegen.scripts import flatten
from webkiln.codegen.sync_types import sync_types
from webkiln.codegen.templates import Templates
from webkiln.errors import InternalError, RecipeError
from webkiln.ir.input_names import by_input
from webkiln.recipe.labels import read_labels, with_labels

DATA = (
    "runtime/src/*.js",
    "runtime/src/types/*.d.ts",
    "kernels/profile.js.jinja",
    "kernels/intrinsics.js",
)

SHARED = Path(__file__).resolve().parent.parent
EXPLAINED = ("layer", "kernel", "why", "passes", "flops", "bytes", "scalar", "decided")
VARIANT_ORDER = ("relaxed", "simd")
PICTURES = ("float32", "uint8", "int32")
"""The dtypes of image inputs. Integers are unscaled pixels."""


def tensors(programs: dict[str, Any], role: str) -> list[dict[str, Any]]:
    """The inputs or outputs of the model. All backends must agree."""
    views = {
        backend: [
            {
                key: value
                for key, value in tensor.items()
                if key not in ("offset", "storage", "declared_shape")
            }
            | {"shape": tensor.get("declared_shape", tensor["shape"])}
            for tensor in program[role]
        ]
        for backend, program in programs.items()
    }
    first, *others = views.values()
    if any(other != first for other in others):
        raise InternalError(f"the programs of {', '.join(views)} disagree about the model's {role}")
    return first


def constrained_sizes(program: dict[str, Any]) -> dict[str, str]:
    """The symbolic sizes and their constraints, or nothing."""
    units = {item.get("placeholder") for item in program["divisibility"]}
    plain = {name: "" for name in program["placeholders"] if name not in units}
    return plain | {item["name"]: item["text"] for item in program["divisibility"]}


def labels_of(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> Any:
    """The recipe's labels (a list, a table, or a file), or else those of the source."""
    if "labels" in inputs:
        return read_labels(inputs["labels"])
    return (
        canonical.read(inputs["labels.json"]) if "labels.json" in inputs else params.get("labels")
    )


def with_images(
    inputs: list[dict[str, Any]],
    images: dict[str, dict[str, Any]],
    divisibility: Sequence[dict[str, Any]] = (),
) -> list[dict[str, Any]]:
    """Attach how images become inputs: their size, and the multiples that symbolic sizes must be.
    Raises RecipeError if an input is not an image of this kind.
    """
    remainders = {item["name"]: [item["modulus"], item["remainders"]] for item in divisibility}
    names = [tensor["name"] for tensor in inputs]
    images = by_input(images, names)
    if unknown := sorted(set(images) - set(names)):
        raise RecipeError(
            f"inputs: there is no input {', '.join(unknown)}; the inputs are {', '.join(names)}"
        )
    return [
        (
            {**tensor, "image": sized(tensor, images[tensor["name"]], remainders)}
            if tensor["name"] in images
            else tensor
        )
        for tensor in inputs
    ]


def sized(
    tensor: dict[str, Any], image: dict[str, Any], remainders: dict[str, Any]
) -> dict[str, Any]:
    where, shape, planar = f"inputs.{tensor['name']}", tensor["shape"], image["layout"] == "CHW"
    depth = 1 if image["color"] == "GREY" else len(image["color"])
    batch, picture = shape[:-3], shape[-3:]
    channels, *size = picture if planar else (picture[-1:] + picture[:-1])
    if (
        len(shape) not in (3, 4)
        or channels != depth
        or any(isinstance(length, int) and length != 1 for length in batch)
    ):
        axes_shown = ", ".join(("3", "H", "W") if planar else ("H", "W", "3")).replace(
            "3", str(depth)
        )
        raise RecipeError(
            f"{where}: an image of color {image['color']} and layout {image['layout']} fits [1,"
            f" {axes_shown}], and the input is {shape}"
        )
    requested = list(image["size"] or size)
    if any(
        isinstance(length, int) and length != given
        for length, given in zip(size, requested, strict=True)
    ):
        raise RecipeError(f"{where}: size is {requested}, and the input is {shape}")
    if tensor["dtype"] not in PICTURES:
        raise RecipeError(
            f"{where}: the input is {tensor['dtype']}, expected one of {', '.join(PICTURES)}"
        )
    if tensor["dtype"] != "float32" and (
        image["mean"],
        image["scale"],
        image["color"] == "GREY",
    ) != (0.0, 1.0, False):
        raise RecipeError(
            f"{where}: the input is {tensor['dtype']}, which holds unscaled pixels: without mean,"
            " scale and GREY"
        )
    return {
        **image,
        "size": requested,
        **(
            {"remainders": found}
            if (found := {name: remainders[name] for name in requested if name in remainders})
            else {}
        ),
    }


class Files:
    """The files of a bundle as they are written. If `hashed`, names contain digests."""

    def __init__(self, bundle: Path, *, hashed: bool) -> None:
        self.bundle, self.hashed = bundle, hashed

    def write(self, name: str, data: str | bytes, *, referred: bool = False) -> str:
        """Write a file. Returns its name, which has a digest only if other files refer to it."""
        encoded = data.encode() if isinstance(data, str) else data
        stem, dot, suffix = name.partition(".")
        chosen = (
            f"{stem}-{canonical.digest(encoded)[:8]}{dot}{suffix}"
            if referred and self.hashed
            else name
        )
        (self.bundle / chosen).write_bytes(encoded)
        return chosen


def write_module(files: Files, name: str, text: str, build: str = "") -> dict[str, Any]:
    """Write a module, and describe it. `build`: that of its backend, if it has several modules."""
    build = build or canonical.key(text)[:16]
    return {
        "module": files.write(
            f"{name}.js", f"{text}export const build = {text_of(build)};\n", referred=True
        ),
        "build": build,
    }


def write_backend(
    files: Files, inputs: dict[str, Path], backend: str, variants: list[str]
) -> dict[str, Any]:
    code = inputs[f"code.{backend}/"]
    texts = {path.stem: path.read_text("utf-8") for path in sorted(code.glob("*.js"))}
    build = canonical.key(texts)[:16]
    described = write_module(files, backend, texts[backend], build)
    if (emulated := f"{backend}{EMULATED}") in texts:
        described["emulated"] = write_module(files, emulated, texts[emulated], build)["module"]
    if variants:
        ordered = sorted(variants, key=VARIANT_ORDER.index)
        written = {
            v: files.write(f"{v}.wasm", inputs[f"wasm.{v}"].read_bytes(), referred=True)
            for v in ordered
        }
        described["variants"] = [
            {"name": v, "file": file, **piecewise_digest(files.bundle / file)}
            for v, file in written.items()
        ]
    return described


def approximations(program: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a backend that stores float16 between layers, or also multiplies in it, that
    quantizes the factors of products, or that rounds caches.
    """
    return {key: program[key] for key in ("precision", "products", "caches") if key in program}


def profile(files: Files, programs: dict[str, Any]) -> dict[str, Any]:
    return write_module(
        files, MODULE, profile_module(programs, Templates(SHARED), SHARED / "runtime" / "src")
    )


def write_folder(files: Files, manifest: dict[str, Any]) -> None:
    """The modules that depend on the model, and the runtime."""
    sources = SHARED / "runtime" / "src"
    runtime = files.write("runtime.js", runtime_of(manifest), referred=True)
    worker = files.write("worker.js", worker_module(manifest, runtime), referred=True)
    files.write("index.js", index_module(manifest, runtime, worker))
    files.write("webdnn.js", flatten(sources, ["webdnn"], {"main": runtime}))
    shutil.copyfile(sources / "types" / "webdnn.d.ts", files.bundle / "webdnn.d.ts")
    if sync_backend(manifest["backends"]):
        entries = ["sync", *(["open_sizes"] if manifest["placeholders"] else [])]
        files.write("sync.js", sync_module(manifest, flatten(sources, entries, {})))
        files.write("sync.d.ts", sync_types(manifest))


def write_single(files: Files, manifest: dict[str, Any], params: dict[str, Any]) -> None:
    """One script with all modules and data, which replaces them."""
    modules = {file: files.bundle / file for file in backend_modules(manifest)}
    data = [files.bundle / name for name in data_files(manifest)]
    if (size := sum(path.stat().st_size for path in data)) > MAX_INLINED:
        raise RecipeError(
            f"{params['name']}: its data has {size} bytes, and a single file may have at most"
            f" {MAX_INLINED}; build a folder, or another encoding"
        )
    texts = {file: path.read_text("utf-8") for file, path in modules.items()}
    files.write(
        manifest["single"], single_script(manifest, runtime_of(manifest), texts, files.bundle)
    )
    files.write("index.js", single_index(manifest, manifest["single"]))
    for path in (*modules.values(), *data):
        path.unlink()


def runtime_of(manifest: dict[str, Any]) -> str:
    return flatten(
        SHARED / "runtime" / "src",
        runtime_modules(manifest),
        {},
    )


def with_texts(
    inputs: list[dict[str, Any]], texts: list[dict[str, Any]], bundle: Path
) -> list[dict[str, Any]]:
    """Attach how strings become indices of inputs. Equal vocabularies are written once."""
    by_tensor = {}
    for text in texts:
        described = {key: value for key, value in text.items() if key not in ("tensor", "tokens")}
        if text["tokens"]:
            data = json.dumps(text["tokens"], ensure_ascii=False, separators=(",", ":")).encode()
            file = f"vocabulary-{canonical.digest(data)[:8]}.bin"
            (bundle / file).write_bytes(data)
            described["vocabulary"] = {"file": file, **piecewise_digest(bundle / file)}
        by_tensor[text["tensor"]] = described
    return [
        {**tensor, "text": by_tensor[tensor["name"]]} if tensor["name"] in by_tensor else tensor
        for tensor in inputs
    ]


def manifest_of(
    files: Files,
    inputs: dict[str, Path],
    params: dict[str, Any],
    programs: dict[str, Any],
    shards: list[dict[str, Any]],
) -> dict[str, Any]:
    """The manifest without the list of files. Writes the modules of the backends."""
    first = programs[params["backends"][0]]
    texts = canonical.read(inputs["texts.json"])["texts"] if "texts.json" in inputs else []
    images = params.get("images") or {}
    sizes = constrained_sizes(first)
    constraints = {name: text for name, text in sizes.items() if text}
    is_single = params["form"]["kind"] == "single"
    return {
        "schema": "webkiln.bundle/1",
        "name": params["name"],
        "encoding": params["encoding"],
        "inputs": with_texts(
            with_images(tensors(programs, "inputs"), images, first["divisibility"]),
            texts,
            files.bundle,
        ),
        "outputs": with_labels(tensors(programs, "outputs"), labels_of(inputs, params)),
        "placeholders": sorted(sizes),
        **({"zeros": first["zeros"]} if "zeros" in first else {}),
        **({"sizes": constraints} if constraints else {}),
        "states": [state["name"] for state in first["states"] if "scales_of" not in state],
        "shards": [
            {"file": shard["file"], **piecewise_digest(files.bundle / shard["file"])}
            for shard in shards
        ],
        "backends": {
            backend: write_backend(files, inputs, backend, params["variants"].get(backend, []))
            | approximations(program)
            for backend, program in programs.items()
        },
        **({"single": params["single"]} if is_single else {MODULE: profile(files, programs)}),
    }


def explained(programs: dict[str, Any]) -> dict[str, Any]:
    """What `webkiln explain` shows of the launches of each backend."""
    return {
        backend: [
            {key: step[key] for key in EXPLAINED if key in step}
            for step in launches(program["main"])
        ]
        for backend, program in programs.items()
    }


def run(inputs: dict[str, Path], outputs: dict[str, Path], params: dict[str, Any]) -> None:
    bundle, form = outputs["bundle/"], params["form"]
    bundle.mkdir(parents=True, exist_ok=True)
    files = Files(bundle, hashed=form["hashed"])
    programs = {
        backend: canonical.read(inputs[f"program.{backend}.json"]) for backend in params["backends"]
    }
    shards = canonical.read(inputs["shards.json"])["shards"]
    for shard in shards:
        shutil.copyfile(inputs["shards/"] / shard["file"], bundle / shard["file"])
    manifest = manifest_of(files, inputs, params, programs, shards)
    described = package(manifest, form["package"])
    if form["kind"] == "single":
        write_single(files, manifest, params)
    else:
        write_folder(files, manifest)
    files.write("index.d.ts", index_types(manifest))
    files.write("package.json", json.dumps(described, indent=2) + "\n")
    if form["kind"] == "npm":
        files.write("README.md", readme(manifest, described["name"]))
    written = {
        path.name: {"bytes": path.stat().st_size, "sha256": canonical.file_digest(path)}
        for path in sorted(bundle.iterdir())
        if path.name != "manifest.json"
    }
    manifest |= {"launches": explained(programs), "files": written}
    canonical.write(bundle / "manifest.json", manifest)


if __name__ == "__main__":
    stage.main()
