"""The modules of a bundle that are specific to its model: what a page imports, what its Worker
runs, and package.json.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.codegen.declarations import inputs_of, text_of
from webkiln.codegen.profiles import MODULE
from webkiln.codegen.scripts import enclosed

MAX_INLINED = 256 << 20
"""The most bytes of data in a single file. Browsers reject strings of a few times that size."""
MIME = {".wasm": "application/wasm", ".bin": "application/octet-stream"}

PIECE_BYTES = 1 << 18
"""The size of the pieces whose digests loaders verify while the rest arrives."""


def piecewise_digest(path: Path) -> dict[str, Any]:
    """The length of a file, and the SHA-256 of the concatenated SHA-256 digests of its pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(hashlib.sha256(piece).digest())
    return {"bytes": path.stat().st_size, "digest": digest.hexdigest()}


def data_files(manifest: Mapping[str, Any]) -> list[str]:
    """The files that are loaded as data."""
    variants = [
        variant["file"]
        for backend in manifest["backends"].values()
        for variant in backend.get("variants", ())
    ]
    vocabulary_files = {
        tensor["text"]["vocabulary"]["file"]: None
        for tensor in manifest["inputs"]
        if "vocabulary" in tensor.get("text", ())
    }
    return [*variants, *(shard["file"] for shard in manifest["shards"]), *vocabulary_files]


def optional_modules(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The modules of the runtime that only some models need, each with the function that it
    provides to `open`.
    """
    text_inputs = [tensor["text"] for tensor in manifest["inputs"] if "text" in tensor]
    images = any("image" in tensor for tensor in manifest["inputs"])
    return [
        *([("open_sizes", "placeholdersOf")] if manifest["placeholders"] else []),
        *([("picture", "takeImages")] if images else []),
        *(
            [("external_texture", "makeTextureImporter")]
            if images and "webgpu" in manifest["backends"]
            else []
        ),
        *([("text", "loadTexts")] if text_inputs else []),
        *([("text_steps", "rowsOfSteps")] if any("steps" in text for text in text_inputs) else []),
        *([("fingerprint", "bucketOf")] if any(text["hashed"] for text in text_inputs) else []),
    ]


def runtime_modules(manifest: Mapping[str, Any]) -> list[str]:
    """The modules of the runtime that a model needs."""
    choice = ["adapter"] if _choice(manifest) else []
    return ["main", *(module for module, _ in optional_modules(manifest)), *choice]


def _choice(manifest: Mapping[str, Any]) -> list[str]:
    """The function of the runtime that chooses a module by the GPU, if a backend has several."""
    several = any("emulated" in backend for backend in manifest["backends"].values())
    return ["isEmulated"] if several else []


def index_module(manifest: Mapping[str, Any], runtime: str, worker: str) -> str:
    """`index.js`. Its references are literals, in the forms that bundlers recognise."""
    urls = ",\n".join(
        f"{text_of(file)}: new URL({text_of('./' + file)}, import.meta.url).href"
        for file in data_files(manifest)
    )
    functions = [name for _, name in optional_modules(manifest)]
    imported = ", ".join(["open", "top as ranked", "WebkilnError", *functions, *_choice(manifest)])
    opened = ", ".join(["manifest", "urls", "modules", "worker", *functions])
    return (
        f"import {{ {imported} }} from {text_of('./' + runtime)};\n"
        f"export const manifest = {canonical.dumps(manifest).decode()};\n"
        f"const urls = () => ({{\n{urls}\n}});\n"
        f"const modules = {modules(manifest)};\n"
        f"const worker = () => new Worker(new URL({text_of('./' + worker)}, import.meta.url),"
        " { type: 'module' });\n"
        f"export const load = options => open({{ {opened} }}, options);\n"
        "export const top = (scores, k) => ranked(manifest, scores, k);\n"
        "export { WebkilnError };\n"
    )


def sync_backend(backends: Collection[str]) -> str | None:
    """The backend of `sync.js`: the first of those that run without promises."""
    return next((backend for backend in ("wasm", "js") if backend in backends), None)


def sync_module(manifest: Mapping[str, Any], runtime: str) -> str:
    """`sync.js`: the API without promises, with its own copy of the part of the runtime that it
    needs. Nothing is evaluated before a call that an AudioWorkletGlobalScope lacks.
    """
    backend = sync_backend(manifest["backends"])
    urls = ",\n".join(
        f"{text_of(file)}: new URL({text_of('./' + file)}, import.meta.url).href"
        for file in data_files({**manifest, "inputs": []})
    )
    sizes = ", placeholdersOf" if manifest["placeholders"] else ""
    return (
        f"import * as code from {text_of('./' + manifest['backends'][backend]['module'])};\n"
        f"{runtime}"
        f"export const manifest = {canonical.dumps(manifest).decode()};\n"
        f"const urls = () => ({{\n{urls}\n}});\n"
        "export const fetchParts = options =>"
        f" partsOf({{ manifest, backend: {text_of(backend)}, urls }}, options);\n"
        "export const loadSync = parts =>"
        f" new SyncModel({{ manifest, backend: {text_of(backend)}, code{sizes} }}, parts);\n"
    )


def backend_modules(manifest: Mapping[str, Any]) -> list[str]:
    """The files of the modules of all backends."""
    return [
        backend[kind]
        for backend in manifest["backends"].values()
        for kind in ("module", "emulated")
        if kind in backend
    ]


def modules(manifest: Mapping[str, Any]) -> str:
    """An expression with the functions that import the code of each backend and the profiler."""
    entries = {
        **manifest["backends"],
        **{name: manifest[name] for name in [MODULE] if name in manifest},
    }
    rows = (f"{text_of(name)}: {_by_gpu(entry, _import)}" for name, entry in entries.items())
    return "{ " + ", ".join(rows) + " }"


def _import(file: str) -> str:
    return f"() => import({text_of('./' + file)})"


def _by_gpu(entry: Mapping[str, Any], function: Callable[[str], str]) -> str:
    """A function of JavaScript that returns the code of a backend. `function`: that of a file."""
    usual = function(entry["module"])
    if "emulated" not in entry:
        return usual
    emulated = function(entry["emulated"])
    return f"async device => (await isEmulated(device) ? {emulated} : {usual})()"


def worker_module(manifest: Mapping[str, Any], runtime: str) -> str:
    imported = ", ".join(["serve", *_choice(manifest)])
    return f"import {{ {imported} }} from {text_of('./' + runtime)};\nserve({modules(manifest)});\n"


def single_script(
    manifest: Mapping[str, Any], runtime: str, texts: Mapping[str, str], folder: Path
) -> str:
    """A classic script that contains everything and adds the model to the global `webkiln`.

    `runtime` is the source of a module, `texts` are those of the modules of backends by their
    files, `folder` contains the data. The Worker runs the source of the function that contains the
    code.
    """
    code, names = enclosed(runtime)
    parts = [
        f"{text_of(name)}: {_by_gpu(entry, lambda file: _function(texts[file]))}"
        for name, entry in manifest["backends"].items()
    ]
    functions = [name for _, name in optional_modules(manifest)]
    modules_text = "const modules = {\n" + ",\n".join(parts) + "\n};\n"
    exports = ", ".join(
        [
            "open",
            "ranked: top",
            "WebkilnError",
            "modules",
            "serve: () => serve(modules)",
            *functions,
        ]
    )
    assert {"open", "top", "WebkilnError", "serve", *functions} <= set(names)
    urls = ",\n".join(
        f"{text_of(file)}: '{_data_url(folder / file)}'" for file in data_files(manifest)
    )
    inner = ", ".join(["open", "ranked", "WebkilnError", "modules", *functions])
    opened = ", ".join(["manifest", "urls", "modules", "worker", *functions])
    return (
        "(() => {\n"
        "const code = () => {\n"
        "'use strict';\n"
        f"{code}{modules_text}return {{ {exports} }};\n"
        "};\n"
        f"const {{ {inner} }} = code();\n"
        f"const manifest = {canonical.dumps(manifest).decode()};\n"
        f"const urls = () => ({{\n{urls}\n}});\n"
        "const start = () => `(${code})().serve();`;\n"
        "const worker = () => typeof process === 'object' && typeof window === 'undefined'"
        " ? new Worker(start(), { eval: true })\n"
        ": new Worker(URL.createObjectURL(new Blob([start()], { type: 'text/javascript' })));\n"
        f"const load = options => open({{ {opened} }}, options);\n"
        "const top = (scores, k) => ranked(manifest, scores, k);\n"
        f"(globalThis.webkiln ??= {{}})[{text_of(manifest['name'])}] ="
        " { load, top, manifest, WebkilnError };\n"
        "})();\n"
    )


def _function(text: str) -> str:
    """A module as an asynchronous function that returns its exports."""
    body, exported = enclosed(text)
    return f"async () => {{\n{body}return {{ {', '.join(exported)} }};\n}}"


def single_index(manifest: Mapping[str, Any], file: str) -> str:
    """`index.js` next to a single file, for importers."""
    return (
        f"import {text_of('./' + file)};\n"
        "export const { load, top, manifest, WebkilnError } ="
        f" globalThis.webkiln[{text_of(manifest['name'])}];\n"
    )


def _data_url(path: Path) -> str:
    return f"data:{MIME[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def package(manifest: Mapping[str, Any], overrides: Mapping[str, str]) -> dict[str, Any]:
    """package.json. Without an override, the version is derived from the content. `types` comes
    first, because conditions are matched in order.
    """
    single = "single" in manifest
    return {
        "name": re.sub(r"[^a-z0-9._-]+", "-", manifest["name"].lower()).strip("._-") or "model",
        "version": f"0.0.0-b{canonical.key(manifest)[:12]}",
        **overrides,
        "type": "module",
        "sideEffects": [f"./{manifest['single']}"] if single else ["./webdnn.js", "./worker*.js"],
        "exports": {
            ".": {"types": "./index.d.ts", "default": "./index.js"},
            **(
                {} if single else {"./webdnn": {"types": "./webdnn.d.ts", "default": "./webdnn.js"}}
            ),
            **(
                {"./sync": {"types": "./sync.d.ts", "default": "./sync.js"}}
                if not single and sync_backend(manifest["backends"])
                else {}
            ),
            "./manifest.json": "./manifest.json",
        },
        "engines": {"node": ">=20.16"},
    }


def readme(manifest: Mapping[str, Any], name: str) -> str:
    """The README of an npm package."""

    def rows(tensors: list[dict[str, Any]]) -> str:
        return "\n".join(
            f"| `{tensor['name']}` | {tensor['dtype']} |"
            f" `[{', '.join(map(str, tensor['shape']))}]` |"
            for tensor in tensors
        )

    words = {
        tensor["name"]: re.sub(r"[^A-Za-z0-9_]", "_", tensor["name"])
        for tensor in inputs_of(manifest)
    }
    inputs = ", ".join(words.values())
    given = ", ".join(f"{text_of(input_)}: {word}" for input_, word in words.items())
    strings = any(tensor["dtype"] == "string" for tensor in inputs_of(manifest))
    arrays = "strings or typed arrays" if strings else "typed arrays"
    backends = ", ".join(manifest["backends"])
    return f"""# {name}

The neural network *{manifest["name"]}*, compiled by [webkiln](https://pypi.org/project/webkiln/)
for browsers and Node, with its weights as {manifest["encoding"]}. Backends: {backends}.

```js
import {{ load }} from '{name}';

const model = await load();
const outputs = await model.run({{ {given} }});   // {inputs}: {arrays}
model.dispose();
```

| input | dtype | shape |
|---|---|---|
{rows(inputs_of(manifest))}

| output | dtype | shape |
|---|---|---|
{rows(manifest["outputs"])}
"""
