"""A recipe's source -> the model file: a local file, a download with its sha256 (of labels, too), what an export script writes, or the weights of a model
that a function returns.

An export script is a Python file with a function that takes the path to write to, and `parameters`. It comes in as input `script.py`.
"""

import shutil
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.build import stage
from webkiln.canonical import file_digest
from webkiln.errors import RecipeError, SourceError
from webkiln.frontends.keras.made import check_parameters, make_model, save_weights
from webkiln.frontends.keras.plugins import isolated
from webkiln.plugins import import_file

DATA = ()
TIMEOUT_S = 60
MAX_BYTES = 16 << 30
CHUNK = 1 << 20
ADVICE = {
    "url": "download it yourself and give its path",
    "labels": "without a network, write the labels into the recipe (labels = [...]), or leave them out",
}
"""What to do where a download fails."""


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    target = outputs["source"]
    match params["kind"]:
        case "path":
            _copy(inputs["source"], target)
            if "external/" in inputs:
                shutil.copytree(inputs["external/"], outputs["external/"], dirs_exist_ok=True)
        case "url" | "labels" as kind:
            _download(params["url"], params["sha256"], target, ADVICE[kind])
        case "export":
            stage.tell("runs the export script")
            with isolated():
                _export(inputs["script.py"], params["function"], params["parameters"], target)
        case "module":
            with isolated(inputs["modules/"]):
                save_weights(make_model(params), target)
        case kind:
            raise RecipeError(f"source: there is no kind {kind!r}; there are path, url, labels, export and module")


def _copy(source: Path, target: Path) -> None:
    if not source.exists():
        raise SourceError(f"{source}: there is no such file; give the path of a .keras or .h5 file")
    if source.is_dir():
        raise SourceError(f"{source}: is a folder; give the path of a .keras, .h5 or .onnx file")
    shutil.copyfile(source, target)


def _download(url: str, sha256: str, target: Path, advice: str) -> None:
    if not url.startswith(("https://", "http://")):
        raise RecipeError(f"url {url!r} is neither https nor http")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response, target.open("wb") as file:  # noqa: S310 - the scheme is checked above
            size, whole = 0, int(response.headers.get("Content-Length") or 0)
            while chunk := response.read(CHUNK):
                size += len(chunk)
                stage.tell(f"{size / 1e6:.0f}{f' of {whole / 1e6:.0f}' if whole else ''} MB")
                if size > MAX_BYTES:
                    raise SourceError(f"{url}: sends more than {MAX_BYTES} bytes; refused")
                file.write(chunk)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        target.unlink(missing_ok=True)
        raise SourceError(f"{url}: cannot be downloaded: {getattr(error, 'reason', error)}; {advice}") from None
    got = file_digest(target)
    if got != sha256:
        target.unlink()
        raise SourceError(f"{url}: the sha256 is {got}, the recipe says {sha256}; the file changed, or the recipe is wrong")


def _export(script: Path, function: str, parameters: Mapping[str, Any], target: Path) -> None:
    export = getattr(import_file(script), function, None)
    if not callable(export):
        raise RecipeError(f"{script.name}: has no function {function!r}; it takes the path to write to")
    path = target.with_name("export.keras")
    check_parameters(f"{script.name}: {function}", export, path, **parameters)
    try:
        export(path, **parameters)
        if not path.is_file():
            raise SourceError(f"{script.name}: {function} wrote nothing to the path that it was given")
        path.replace(target)
    finally:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    stage.main()
