"""Every tool that imports a model, how it is built there, and the expected result."""

from dataclasses import dataclass
from typing import Literal

STRICT = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src"
    " 'self'; style-src 'self'; img-src data:"
)
"""The policy that docs/deploying.md recommends, with what the page itself needs."""

BASE = "/some/app/"
BASE_OPTION = f"--base={BASE}"

EXAMPLES = "examples"
PROJECTS = "tests/web/projects"


@dataclass(frozen=True)
class Row:
    """A tool that imports the model into a page.

    `model`: whether the import uses the plugin (`webkiln:digits`) or a bundle in the project.
    `project`: its folder; if that has no `src` and `public`, those of the webpack example are
    copied. `script`: a script of package.json, with additional arguments. `deployed`: the output
    folder of the build. `inline`: how a strict policy allows inline scripts of the page. `limit`:
    the known limitation if the page shows no answer. `quick`: whether `make test` includes the row.
    """

    tool: str
    package: str
    model: Literal["plugin", "bundle"]
    mode: Literal["build", "dev"]
    project: str
    script: tuple[str, ...]
    deployed: str = "public"
    inline: Literal["", "hashed", "allowed"] = ""
    limit: str = ""
    quick: bool = False

    @property
    def name(self) -> str:
        return f"{self.tool}-{self.model}-{self.mode}".replace(" ", "_")


def example(name: str) -> str:
    return f"{EXAMPLES}/{name}"


def project(name: str) -> str:
    return f"{PROJECTS}/{name}"


NOT_CARRIED = "needs the plugin: the bundle's files are not carried along"

ROWS = (
    Row(
        "Vite",
        "vite",
        "plugin",
        "build",
        example("vite"),
        ("build", BASE_OPTION),
        "dist",
        quick=True,
    ),
    Row(
        "Vite",
        "vite",
        "plugin",
        "dev",
        example("vite"),
        ("dev", BASE_OPTION, "--strictPort", "--host=127.0.0.1", "--port={port}"),
        quick=True,
    ),
    Row("Vite", "vite", "bundle", "build", example("vite"), ("build", "--base=./"), "dist"),
    Row(
        "Vite",
        "vite",
        "bundle",
        "dev",
        example("vite"),
        ("dev", BASE_OPTION, "--strictPort", "--host=127.0.0.1", "--port={port}"),
    ),
    Row(
        "Vite with React",
        "vite",
        "plugin",
        "build",
        example("vite-react"),
        ("build", "--base=./"),
        "dist",
        quick=True,
    ),
    Row(
        "Vite with React",
        "vite",
        "plugin",
        "dev",
        example("vite-react"),
        ("dev", BASE_OPTION, "--strictPort", "--host=127.0.0.1", "--port={port}"),
    ),
    Row("Rollup", "rollup", "plugin", "build", example("rollup"), ("build",), quick=True),
    Row("Rollup", "rollup", "bundle", "build", example("rollup"), ("build",), limit=NOT_CARRIED),
    Row("Rolldown", "rolldown", "plugin", "build", project("rolldown"), ("build",), quick=True),
    Row(
        "Rolldown",
        "rolldown",
        "bundle",
        "build",
        project("rolldown"),
        ("build",),
        limit=NOT_CARRIED,
    ),
    Row("webpack", "webpack", "plugin", "build", example("webpack"), ("build",), quick=True),
    Row(
        "webpack",
        "webpack",
        "plugin",
        "dev",
        example("webpack"),
        ("dev", "--host=127.0.0.1", "--port={port}"),
    ),
    Row("webpack", "webpack", "bundle", "build", example("webpack"), ("build",)),
    Row(
        "webpack",
        "webpack",
        "bundle",
        "dev",
        example("webpack"),
        ("dev", "--host=127.0.0.1", "--port={port}"),
    ),
    Row("Rspack", "@rspack/core", "plugin", "build", project("rspack"), ("build",), quick=True),
    Row("Rspack", "@rspack/core", "bundle", "build", project("rspack"), ("build",)),
    Row("esbuild", "esbuild", "plugin", "build", example("esbuild"), ("build",), quick=True),
    Row("esbuild", "esbuild", "bundle", "build", example("esbuild"), ("build",), limit=NOT_CARRIED),
    Row(
        "Farm",
        "@farmfe/core",
        "plugin",
        "build",
        project("farm"),
        ("build",),
        "dist",
        inline="hashed",
        quick=True,
    ),
    Row(
        "Next (Turbopack)",
        "next",
        "bundle",
        "build",
        example("next"),
        ("build",),
        "out",
        inline="allowed",
    ),
    Row(
        "Next (Turbopack)",
        "next",
        "bundle",
        "dev",
        example("next"),
        ("dev", "--hostname=127.0.0.1", "--port={port}"),
    ),
    Row(
        "Next (webpack)",
        "next",
        "bundle",
        "build",
        example("next"),
        ("build", "--webpack"),
        "out",
        inline="allowed",
    ),
    Row(
        "Parcel",
        "parcel",
        "bundle",
        "build",
        project("parcel"),
        ("build",),
        "dist",
        inline="hashed",
        quick=True,
    ),
    Row(
        "plain HTML", "", "bundle", "build", example("plain"), (), ".", inline="hashed", quick=True
    ),
)
