"""The modules of a bundle that know its model: what a page imports, what its Worker runs, and
package.json.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.codegen.declarations import inputs_of, text_of
from webkiln.codegen.profiles import MODULE
from webkiln.codegen.scripts import enclosed

MAX_INLINED = 256 << 20
"""The most bytes of data that a single file holds: browsers refuse strings of a few times as many.
"""
MIME = {".wasm": "application/wasm", ".bin": "application/octet-stream"}

PIECE_BYTES = 1 << 18
"""What loaders digest files by, while the rest arrives."""


def sealed(path: Path) -> dict[str, Any]:
    """The length of a file, and the SHA-256 of the SHA-256 digests of its pieces, one after
    another.
    """
    seal = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            seal.update(hashlib.sha256(piece).digest())
    return {"bytes": path.stat().st_size, "digest": seal.hexdigest()}


def assets(manifest: Mapping[str, Any]) -> list[str]:
    """The files that are fetched as data."""
    variants = [
        variant["file"]
        for backend in manifest["backends"].values()
        for variant in backend.get("variants", ())
    ]
    vocabularies = {
        tensor["text"]["vocabulary"]["file"]: None
        for tensor in manifest["inputs"]
        if "vocabulary" in tensor.get("text", ())
    }
    return [*variants, *(shard["file"] for shard in manifest["shards"]), *vocabularies]


def parts_of(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The modules of the runtime that only some models need, each with what the model is opened
    with of it.
    """
    texts = [tensor["text"] for tensor in manifest["inputs"] if "text" in tensor]
    images = any("image" in tensor for tensor in manifest["inputs"])
    return [
        *([("picture", "takeImages")] if images else []),
        *(
            [("external_texture", "makeTextureImporter")]
            if images and "webgpu" in manifest["backends"]
            else []
        ),
        *([("text", "loadTexts")] if texts else []),
        *([("fingerprint", "bucketOf")] if any(text["hashed"] for text in texts) else []),
    ]


def index_module(manifest: Mapping[str, Any], runtime: str, worker: str) -> str:
    """`index.js`. Its references are literal, in the forms that bundlers follow."""
    urls = ",\n".join(
        f"{text_of(file)}: new URL({text_of('./' + file)}, import.meta.url).href"
        for file in assets(manifest)
    )
    more = [name for _, name in parts_of(manifest)]
    return (
        f"import {{ {', '.join(['open', 'top as ranked', 'WebkilnError', *more])} }} from"
        f" {text_of('./' + runtime)};\nexport const manifest ="
        f" {canonical.dumps(manifest).decode()};\nconst urls = {{\n{urls}\n}};\nconst modules ="
        f" {modules(manifest)};\nconst worker = () => new Worker(new URL({text_of('./' + worker)},"
        " import.meta.url), { type: 'module' });\nexport const load = options => open({"
        f" {', '.join(['manifest', 'urls', 'modules', 'worker', *more])} }}, options);\nexport"
        " const top = (scores, k) => ranked(manifest, scores, k);\nexport { WebkilnError };\n"
    )


def modules(manifest: Mapping[str, Any]) -> str:
    """An expression of the functions that import the code of each backend, and what profiles it."""
    found = {
        **manifest["backends"],
        **{name: manifest[name] for name in [MODULE] if name in manifest},
    }
    rows = (
        f"{text_of(name)}: () => import({text_of('./' + entry['module'])})"
        for name, entry in found.items()
    )
    return "{ " + ", ".join(rows) + " }"


def worker_module(manifest: Mapping[str, Any], runtime: str) -> str:
    return f"import {{ serve }} from {text_of('./' + runtime)};\nserve({modules(manifest)});\n"


def single_script(
    manifest: Mapping[str, Any], runtime: str, backends: Mapping[str, str], folder: Path
) -> str:
    """A classic script with everything inside, which adds the model to the global `webkiln`.

    `runtime` and `backends` are the texts of modules, `folder` has the data. The Worker is made of
    the text of the function that holds the code.
    """
    code, names = enclosed(runtime)
    parts = [
        f"{text_of(name)}: async () => {{\n{body}return {{ {', '.join(exported)} }};\n}}"
        for name, (body, exported) in ((name, enclosed(text)) for name, text in backends.items())
    ]
    more = [name for _, name in parts_of(manifest)]
    inside = "const modules = {\n" + ",\n".join(parts) + "\n};\n"
    given = ", ".join(
        ["open", "ranked: top", "WebkilnError", "modules", "serve: () => serve(modules)", *more]
    )
    assert {"open", "top", "WebkilnError", "serve", *more} <= set(names)
    urls = ",\n".join(f"{text_of(file)}: '{_inlined(folder / file)}'" for file in assets(manifest))
    return (
        f"(() => {{\nconst code = () => {{\n'use strict';\n{code}{inside}return {{ {given}"
        f" }};\n}};\nconst {{ {', '.join(['open', 'ranked', 'WebkilnError', 'modules', *more])} }}"
        f" = code();\nconst manifest = {canonical.dumps(manifest).decode()};\nconst urls ="
        f" {{\n{urls}\n}};\nconst start = () => `(${{code}})().serve();`;\nconst worker = () =>"
        " typeof process === 'object' && typeof window === 'undefined' ? new Worker(start(), {"
        " eval: true })\n: new Worker(URL.createObjectURL(new Blob([start()], { type:"
        " 'text/javascript' })));\nconst load = options => open({"
        f" {', '.join(['manifest', 'urls', 'modules', 'worker', *more])} }}, options);\nconst top ="
        " (scores, k) => ranked(manifest, scores, k);\n(globalThis.webkiln ??="
        f" {{}})[{text_of(manifest['name'])}] = {{ load, top, manifest, WebkilnError }};\n}})();\n"
    )


def single_index(manifest: Mapping[str, Any], file: str) -> str:
    """`index.js` beside a single file, for who imports it."""
    return (
        f"import {text_of('./' + file)};\nexport const {{ load, top, manifest, WebkilnError }} ="
        f" globalThis.webkiln[{text_of(manifest['name'])}];\n"
    )


def _inlined(path: Path) -> str:
    return f"data:{MIME[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def package(manifest: Mapping[str, Any], said: Mapping[str, str]) -> dict[str, Any]:
    """What npm and bundlers read. The version follows the content where none is said; `types`
    stands
    first, because conditions are tried in their order.
    """
    single = "single" in manifest
    return {
        "name": re.sub(r"[^a-z0-9._-]+", "-", manifest["name"].lower()).strip("._-") or "model",
        "version": f"0.0.0-b{canonical.key(manifest)[:12]}",
        **said,
        "type": "module",
        "sideEffects": [f"./{manifest['single']}"] if single else ["./webdnn.js", "./worker*.js"],
        "exports": {
            ".": {"types": "./index.d.ts", "default": "./index.js"},
            **(
                {} if single else {"./webdnn": {"types": "./webdnn.d.ts", "default": "./webdnn.js"}}
            ),
            "./manifest.json": "./manifest.json",
        },
        "engines": {"node": ">=20.16"},
    }


def readme(manifest: Mapping[str, Any], name: str) -> str:
    """What the page of an npm package says."""

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
    return f"""# {name}

The neural network *{manifest["name"]}*, compiled by [webkiln](https://pypi.org/project/webkiln/) for browsers and Node, with its weights as {manifest["encoding"]}. Backends: {", ".join(manifest["backends"])}.

```js
import {{ load }} from '{name}';

const model = await load();
const outputs = await model.run({{ {given} }});   // {inputs}: {"strings or " if any(tensor["dtype"] == "string" for tensor in inputs_of(manifest)) else ""}typed arrays
model.dispose();
```

| input | dtype | shape |
|---|---|---|
{rows(inputs_of(manifest))}

| output | dtype | shape |
|---|---|---|
{rows(manifest["outputs"])}
"""
