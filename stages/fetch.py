"""The source of a recipe -> the model file: a local file, a download with its sha256 (also of
labels), the output of an export script, or the weights of a model that a function returns.

An export script is a Python file with a function that takes the path to write to, and `parameters`.
It is the input `script.py`.
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
from webkiln.frontends.core.format_stages import stage_module

DATA = ()
TIMEOUT_S = 60
MAX_BYTES = 16 << 30
CHUNK = 1 << 20
ADVICE = {
    "url": "download it manually, and use its path",
    "labels": (
        "without network access, write the labels into the recipe (labels = [...]), or omit them"
    ),
}
"""What to do if a download fails."""


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    target = outputs["source"]
    match params["kind"]:
        case "path":
            _copy(inputs["source"], target)
            if "external/" in inputs:
                shutil.copytree(inputs["external/"], outputs["external/"], dirs_exist_ok=True)
        case "url" | "labels" as kind:
            _download(params["url"], params["sha256"], target, ADVICE[kind])
        case "export" | "module":
            stage.report_progress("running the code that creates the model")
            stage_module(params["format"], "fetch").fetch(inputs, params, target)
        case kind:
            raise RecipeError(
                f"source: there is no kind {kind!r}; there are path, url, labels, export and module"
            )


def _copy(source: Path, target: Path) -> None:
    if not source.exists():
        raise SourceError(f"{source}: no such file; give the path of a model file")
    if source.is_dir():
        raise SourceError(f"{source}: is a folder; give the path of a model file")
    shutil.copyfile(source, target)


def _download(url: str, sha256: str, target: Path, advice: str) -> None:
    if not url.startswith(("https://", "http://")):
        raise RecipeError(f"url {url!r} is neither https nor http")
    try:
        with (
            # The scheme was checked above.
            urllib.request.urlopen(url, timeout=TIMEOUT_S) as response,  # noqa: S310
            target.open("wb") as file,
        ):
            size, total = 0, int(response.headers.get("Content-Length") or 0)
            while chunk := response.read(CHUNK):
                size += len(chunk)
                stage.report_progress(
                    f"{size / 1e6:.0f}{f' of {total / 1e6:.0f}' if total else ''} MB"
                )
                if size > MAX_BYTES:
                    raise SourceError(f"{url}: sends more than {MAX_BYTES} bytes; refused")
                file.write(chunk)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        target.unlink(missing_ok=True)
        raise SourceError(
            f"{url}: cannot be downloaded: {getattr(error, 'reason', error)}; {advice}"
        ) from None
    got = file_digest(target)
    if got != sha256:
        target.unlink()
        raise SourceError(
            f"{url}: the sha256 is {got}, the recipe says {sha256}; the file changed, or the"
            " recipe's sha256 is wrong"
        )


if __name__ == "__main__":
    stage.main()
