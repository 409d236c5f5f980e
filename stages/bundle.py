"""Assembles the folder that is shipped to the web from the code of each backend, the weight shards and the runtime."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.backends.launches import launches
from webkiln.build import stage
from webkiln.codegen.declarations import index_types, text_of
from webkiln.codegen.scripts import flatten
from webkiln.errors import InternalError, RecipeError

DATA = ("runtime/src/*.js", "runtime/src/types/*.d.ts")

SHARED = Path(__file__).resolve().parent.parent
EXPLAINED = ("layer", "kernel", "why", "flops", "bytes")
VARIANT_ORDER = ("relaxed", "simd")
PICTURES = ("float32", "uint8", "int32")
"""Dtypes that images become; whole numbers are the pixels as they are."""


def tensors(programs: dict[str, Any], role: str) -> list[dict[str, Any]]:
    """The inputs or outputs of the model, which all backends must agree on."""
    views = {
        backend: [
            {key: value for key, value in tensor.items() if key not in ("offset", "storage", "said")}
            | {"shape": tensor.get("said", tensor["shape"])}
            for tensor in program[role]
        ]
        for backend, program in programs.items()
    }
    first, *others = views.values()
    if any(other != first for other in others):
        raise InternalError(f"the programs of {', '.join(views)} disagree about the model's {role}")
    return first


def asked(program: dict[str, Any]) -> dict[str, str]:
    """The sizes that the user sets, with what each must be, or nothing."""
    units = {item.get("placeholder") for item in program["residues"]}
    plain = {name: "" for name in program["placeholders"] if name not in units}
    return plain | {item["name"]: item["text"] for item in program["residues"]}


def read_labels(path: Path) -> list[str]:
    """The names in a file: a JSON list, a JSON table by number (of names, or of lists that end in one), or one a line."""
    text = path.read_text("utf-8", errors="replace")
    try:
        found = json.loads(text)
    except ValueError:
        found = None if {"\0", "\ufffd"} & set(text) else text.splitlines()
    if isinstance(found, dict) and found.keys() == set(map(str, range(len(found)))):
        rows = (found[str(number)] for number in range(len(found)))
        found = [row[-1] if isinstance(row, list) and row else row for row in rows]
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise RecipeError(
            "labels: the file is neither a JSON list of names, nor a JSON table of them by number from 0, nor text with one a line"
        )
    return found


def with_labels(outputs: list[dict[str, Any]], labels: Any) -> list[dict[str, Any]]:
    """Attach class names: a list goes to each output whose last axis has its length, a table names the outputs."""
    if not labels:
        return outputs
    names = [output["name"] for output in outputs]
    if isinstance(labels, dict):
        if unknown := sorted(set(labels) - set(names)):
            raise RecipeError(f"labels: there is no output {', '.join(unknown)}; the outputs are {', '.join(names)}")
        table = labels
    else:
        table = {o["name"]: labels for o in outputs if o["shape"] and o["shape"][-1] == len(labels)}
        if not table:
            shapes = ", ".join(f"{o['name']} {o['shape']}" for o in outputs)
            raise RecipeError(f"labels: {len(labels)} labels fit the last axis of no output ({shapes})")
    for output in outputs:
        count = len(table.get(output["name"], ()))
        if count and (not output["shape"] or output["shape"][-1] != count):
            raise RecipeError(f"labels: {count} labels for output {output['name']} of shape {output['shape']}")
    return [{**o, "labels": list(table[o["name"]])} if o["name"] in table else o for o in outputs]


def with_images(
    inputs: list[dict[str, Any]], images: dict[str, dict[str, Any]], residues: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Attach how images become inputs, with the size of each and what open sizes must leave when divided; RecipeError where the input is no
    image of that kind."""
    rests = {item["name"]: [item["period"], item["rests"]] for item in residues}
    names = [tensor["name"] for tensor in inputs]
    if unknown := sorted(set(images) - set(names)):
        raise RecipeError(f"inputs: there is no input {', '.join(unknown)}; the inputs are {', '.join(names)}")
    return [{**tensor, "image": sized(tensor, images[tensor["name"]], rests)} if tensor["name"] in images else tensor for tensor in inputs]


def sized(tensor: dict[str, Any], image: dict[str, Any], rests: dict[str, Any]) -> dict[str, Any]:
    where, shape, planar = f"inputs.{tensor['name']}", tensor["shape"], image["layout"] == "CHW"
    depth = 1 if image["color"] == "GREY" else len(image["color"])
    batch, picture = shape[:-3], shape[-3:]
    channels, *size = picture if planar else (picture[-1:] + picture[:-1])
    if len(shape) not in (3, 4) or channels != depth or any(isinstance(length, int) and length != 1 for length in batch):
        wanted = ", ".join(("3", "H", "W") if planar else ("H", "W", "3")).replace("3", str(depth))
        raise RecipeError(
            f"{where}: an image of color {image['color']} and layout {image['layout']} fits [1, {wanted}], and the input is {shape}"
        )
    asked = list(image["size"] or size)
    if any(isinstance(length, int) and length != given for length, given in zip(size, asked, strict=True)):
        raise RecipeError(f"{where}: size is {asked}, and the input is {shape}")
    if tensor["dtype"] not in PICTURES:
        raise RecipeError(f"{where}: the input is {tensor['dtype']}, expected one of {', '.join(PICTURES)}")
    if tensor["dtype"] != "float32" and (image["mean"], image["scale"], image["color"] == "GREY") != (0.0, 1.0, False):
        raise RecipeError(f"{where}: the input is {tensor['dtype']}, which holds pixels as they are: without mean, scale and GREY")
    return {**image, "size": asked, **({"rests": found} if (found := {name: rests[name] for name in asked if name in rests}) else {})}


def entry(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": canonical.file_digest(path)}


def index_module(manifest: dict[str, Any]) -> str:
    backends = manifest["backends"]
    assets = [b["module"] for b in backends.values()]
    assets += [v["file"] for b in backends.values() for v in b.get("variants", ())]
    assets += [shard["file"] for shard in manifest["shards"]]
    urls = ",\n".join(f"{text_of(file)}: new URL({text_of('./' + file)}, import.meta.url).href" for file in assets)
    images = any("image" in tensor for tensor in manifest["inputs"])
    names = ["open", "top as ranked", "WebkilnError", *(["takeImages"] if images else [])]
    return (
        f"import {{ {', '.join(names)} }} from './runtime.js';\n"
        f"export const manifest = {canonical.dumps(manifest).decode()};\n"
        f"const urls = {{\n{urls}\n}};\n"
        f"const modules = {modules(manifest)};\n"
        "const worker = Worker => new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });\n"
        f"export const load = options => open({{ manifest, urls, modules, worker{', takeImages' if images else ''} }}, options);\n"
        "export const top = (scores, k) => ranked(manifest, scores, k);\n"
        "export { WebkilnError };\n"
    )


def modules(manifest: dict[str, Any]) -> str:
    rows = (f"{text_of(name)}: () => import({text_of('./' + b['module'])})" for name, b in manifest["backends"].items())
    return "{ " + ", ".join(rows) + " }"


def worker_module(manifest: dict[str, Any]) -> str:
    return f"import {{ serve }} from './runtime.js';\nserve({modules(manifest)});\n"


def package(manifest: dict[str, Any]) -> dict[str, Any]:
    """What npm and bundlers read. The version follows the content; `types` stands first, because conditions are tried in their order."""
    return {
        "name": re.sub(r"[^a-z0-9._-]+", "-", manifest["name"].lower()).strip("._-") or "model",
        "version": f"0.0.0-b{canonical.key(manifest)[:12]}",
        "type": "module",
        "exports": {
            ".": {"types": "./index.d.ts", "default": "./index.js"},
            "./webdnn": {"types": "./webdnn.d.ts", "default": "./webdnn.js"},
            "./manifest.json": "./manifest.json",
        },
    }


def write(path: Path, text: str) -> None:
    path.write_bytes(text.encode())


def copy_backend(inputs: dict[str, Path], bundle: Path, backend: str, variants: list[str]) -> dict[str, Any]:
    module = f"{backend}.js"
    write(bundle / module, (inputs[f"code.{backend}/"] / module).read_text("utf-8"))
    described: dict[str, Any] = {"module": module, **entry(bundle / module)}
    if backend == "wasm":
        ordered = sorted(variants, key=VARIANT_ORDER.index)
        for variant in ordered:
            shutil.copyfile(inputs[f"wasm.{variant}"], bundle / f"{variant}.wasm")
        described["variants"] = [{"name": v, "file": f"{v}.wasm", **entry(bundle / f"{v}.wasm")} for v in ordered]
    return described


def run(inputs: dict[str, Path], outputs: dict[str, Path], params: dict[str, Any]) -> None:
    bundle = outputs["bundle/"]
    bundle.mkdir(parents=True, exist_ok=True)
    programs = {backend: canonical.read(inputs[f"program.{backend}.json"]) for backend in params["backends"]}
    shards = canonical.read(inputs["shards.json"])["shards"]
    backends = {b: copy_backend(inputs, bundle, b, params["variants"]) for b in params["backends"]}
    for shard in shards:
        shutil.copyfile(inputs["shards/"] / shard["file"], bundle / shard["file"])
    first = programs[params["backends"][0]]
    manifest = {
        "schema": "webkiln.bundle/1",
        "name": params["name"],
        "encoding": params["encoding"],
        "inputs": with_images(tensors(programs, "inputs"), params.get("images") or {}, first["residues"]),
        "outputs": with_labels(tensors(programs, "outputs"), read_labels(inputs["labels"]) if "labels" in inputs else params.get("labels")),
        "placeholders": sorted(asked(first)),
        **({"sizes": {name: text for name, text in asked(first).items() if text}} if any(asked(first).values()) else {}),
        "states": [state["name"] for state in first["states"]],
        "shards": shards,
        "backends": backends,
    }
    sources = SHARED / "runtime" / "src"
    write(bundle / "index.js", index_module(manifest))
    write(bundle / "index.d.ts", index_types(manifest))
    shutil.copyfile(sources / "types" / "webdnn.d.ts", bundle / "webdnn.d.ts")
    write(bundle / "worker.js", worker_module(manifest))
    write(bundle / "runtime.js", flatten(sources, "picture" if params.get("images") else "main", {}))
    write(bundle / "webdnn.js", flatten(sources, "webdnn", {"main": "runtime.js"}))
    write(bundle / "package.json", json.dumps(package(manifest), indent=2) + "\n")
    files = {path.name: entry(path) for path in sorted(bundle.iterdir()) if path.name != "manifest.json"}
    explained = {backend: [{key: step[key] for key in EXPLAINED} for step in launches(made["main"])] for backend, made in programs.items()}
    canonical.write(bundle / "manifest.json", {**manifest, "launches": explained, "files": files})


if __name__ == "__main__":
    stage.main()
