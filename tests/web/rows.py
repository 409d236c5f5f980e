"""Every tool that a model is imported in, how it is built there, and what is expected of it."""

from dataclasses import dataclass
from typing import Literal

STRICT = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src"
    " 'self'; style-src 'self'; img-src data:"
)
"""What docs/deploying.md asks for, and what the page itself shows."""

BASE = "/some/app/"
PLACE = f"--base={BASE}"

EXAMPLES = "examples"
PROJECTS = "tests/web/projects"


@dataclass(frozen=True)
class Row:
    """A tool that brings the model into a page.

    `model`: what is imported, by the plugin (`webkiln:digits`) or a bundle that lies in the
    project. `project`: its folder, which gets the `src` and `public` of the webpack example where
    it has none. `script`: of its package.json, with further words. `deployed`: the folder that the
    build wrote. `inline`: how a strict policy allows the scripts that stand in the page. `limit`:
    what is seen instead of an answer. `quick`: `make test` runs it, too.
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
    Row("Vite", "vite", "plugin", "build", example("vite"), ("build", PLACE), "dist", quick=True),
    Row(
        "Vite",
        "vite",
        "plugin",
        "dev",
        example("vite"),
        ("dev", PLACE, "--strictPort", "--host=127.0.0.1", "--port={port}"),
        quick=True,
    ),
    Row("Vite", "vite", "bundle", "build", example("vite"), ("build", "--base=./"), "dist"),
    Row(
        "Vite",
        "vite",
        "bundle",
        "dev",
        example("vite"),
        ("dev", PLACE, "--strictPort", "--host=127.0.0.1", "--port={port}"),
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
        ("dev", PLACE, "--strictPort", "--host=127.0.0.1", "--port={port}"),
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
