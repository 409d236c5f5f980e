"""`webkiln diff`: compare a bundle's layers, in order, with another backend or the framework, up to
the first that is wrong.
"""

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from webkiln import npz
from webkiln.backends import host
from webkiln.backends.compare import bound_of, layer_errors, layers_of, sets_of
from webkiln.backends.frame import FrameResult, KeptLayer
from webkiln.backends.samples import sample_inputs
from webkiln.build import progress
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.locations import state_folder
from webkiln.codegen.declarations import inputs_of
from webkiln.commands.build import add_options, recipe_of, shipped, with_options
from webkiln.errors import RecipeError, VerificationError
from webkiln.ir.types import Array
from webkiln.recipe.options import BY_FLAG
from webkiln.recipe.read import read_recipe
from webkiln.recipe.values import PRECISIONS, TOLERANCES, choose

REFERENCE = "reference"
NO_LAYERS = "  the reference has outputs but no layers; use --against BACKEND to compare layers"

Sets = dict[str, dict[str, Array]]


BUILT_WITH = (
    *("source-format", "reference", "value", "from-layer", "to-layer", "signature", "parameter"),
    *("plugin", "operators", "reads", "trust-source", "sample-size"),
    *("layer-encoding", "calibration", "ranges", "max-error", "metric"),
)
"""The options of `webkiln build` that describe the source, and how it is quantised."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="the bundle's folder")
    parser.add_argument("--backend", help="default: the backend that load selects")
    parser.add_argument("--variant", help="a variant of the wasm backend")
    parser.add_argument(
        "--against",
        default=REFERENCE,
        help=(
            "another backend of the bundle, or reference (default): what the framework computes, or"
            " what was recorded of it"
        ),
    )
    parser.add_argument(
        "--bound", type=float, help="the largest relative error to accept; default: the encoding's"
    )
    parser.add_argument("--browser", choices=host.HOSTS, default="node")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument(
        "--source", type=Path, help="the bundle's source; default: the model of its name in models/"
    )
    parser.add_argument(
        "--weights", type=Path, metavar="FILE", help="the weights that the bundle was built with"
    )
    add_options(parser, BUILT_WITH)


def run(options: argparse.Namespace) -> int:
    manifest = host.read_manifest(options.bundle)
    backends = tuple(manifest["backends"])
    (backend,) = choose(
        "backend",
        [options.backend or host.first_backend(manifest, options.browser)],
        backends,
        str(options.bundle),
    )
    others = (*(name for name in backends if name != backend), REFERENCE)
    (against,) = choose("backend to compare with", [options.against], others, str(options.bundle))
    with (
        tempfile.TemporaryDirectory(prefix="webkiln-diff-") as scratch,
        Engine(state_folder(options.bundle), progress=progress.console()) as engine,
    ):
        framework = _framework(options, manifest, engine, backend) if against == REFERENCE else None
        inputs = sample_inputs(manifest) if framework is None else framework.inputs
        results = _run(options, options.bundle, backend, options.variant, inputs)
        kept, bundle = results, options.bundle
        if not any(result.layers for result in results.values()):
            print(f"{options.bundle} has no layers; they are those of a new build")
            bundle = Path(scratch) / "bundle"
            choice = Selection(backends, manifest["encoding"], layers=True)
            engine.publish(
                _actions(options, manifest, engine, "it has no layers").bundle(choice),
                "bundle/",
                bundle,
            )
            kept = _run(options, bundle, backend, options.variant, inputs)
        if framework is None:
            expected = {
                name: _values(result)
                for name, result in _run(options, bundle, against, None, inputs).items()
            }
            bound = _tolerance(manifest, TOLERANCES["float32"], backend, against)
            bounds: Mapping[str, float] = dict.fromkeys(inputs, options.bound or bound)
        else:
            expected, bounds = framework.expected, framework.bounds
    for name, result in results.items():
        products = f" (products in {result.products})" if result.products else ""
        print(f"{backend}{products} against {against} in {options.browser}, input set {name}")
        if framework is not None and not framework.has_layers:
            print(NO_LAYERS)
        layers = (*kept[name].layers, *_layers(result))
        for error in layer_errors(layers, expected[name], bounds[name]):
            print(f"  {error}")
            if not error.passed:
                raise VerificationError(
                    f"{backend} differs from {against} first in {error}, on the input set {name}"
                )
    return 0


@dataclass(frozen=True)
class _Framework:
    """What the framework computed: for each set, its inputs, the expected outputs and layers, and
    the error bound.
    """

    inputs: Sets
    expected: Sets
    bounds: Mapping[str, float]
    has_layers: bool


def _framework(
    options: argparse.Namespace, manifest: Mapping[str, Any], engine: Engine, backend: str
) -> _Framework:
    action = _actions(options, manifest, engine, "the framework's outputs are needed").reference()
    found = engine.run(action).outputs
    reference, layers = (
        npz.read(engine.cache.store.file(found[name])) for name in ("reference.npz", "layers.npz")
    )
    inputs, outputs, noises = (sets_of(reference, part) for part in ("in", "out", "noise"))
    tolerance = options.bound or _tolerance(manifest, TOLERANCES[manifest["encoding"]], backend)
    bounds = {
        name: max(bound_of(tolerance, float(noise)) for noise in noises[name].values())
        for name in inputs
    }
    expected = {name: {**layers_of(layers, name), **_named(outputs[name])} for name in inputs}
    return _Framework(inputs, expected, bounds, bool(layers))


def _tolerance(manifest: Mapping[str, Any], bound: float, *backends: str) -> float:
    """The error bound of an encoding, raised if the device stores float16, quantizes the factors of
    products, or rounds caches.
    """
    raised = [
        TOLERANCES[name]
        for key, name in (("precision", "precision"), ("products", "dot"), ("caches", "caches"))
        if any(key in manifest["backends"][backend] for backend in backends)
    ]
    return max([bound, *raised])


def _run(
    options: argparse.Namespace, bundle: Path, backend: str, variant: str | None, inputs: Sets
) -> dict[str, FrameResult]:
    given = list(inputs.values())
    results = host.run_bundle(
        bundle,
        backend,
        given,
        host=options.browser,
        variant=variant,
        layers=True,
        timeout=options.timeout,
    )
    return dict(zip(inputs, results, strict=True))


def _named(outputs: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs, under names that differ from those of all layers."""
    return {f"output {name}": value for name, value in outputs.items()}


def _layers(result: FrameResult) -> tuple[KeptLayer, ...]:
    return tuple(KeptLayer(name, name, value) for name, value in _named(result.outputs).items())


def _values(result: FrameResult) -> dict[str, Array]:
    return {**{layer.layer: layer.value for layer in result.layers}, **_named(result.outputs)}


def _actions(
    options: argparse.Namespace, manifest: Mapping[str, Any], engine: Engine, why: str
) -> ModelGraph:
    """The actions of the bundle's recipe. Raises RecipeError, with a hint, if the recipe is not
    known.
    """
    name = manifest["name"]
    local = Path("models") / name / "recipe.toml"
    shapes = {
        tensor["name"]: tuple(tensor["shape"])
        for tensor in inputs_of(manifest)
        if "distribution" not in tensor
    }
    if options.source is None and local.is_file():
        recipe = with_options(read_recipe(local), options, ("parameter", "reference"))
    elif options.source is None and name not in shipped():
        raise RecipeError(f"{options.bundle}: {why}, and its source is not known; add --source")
    else:
        entries = manifest["backends"].values()
        precisions = [entry.get("precision", "float32") for entry in entries]
        attributes = [BY_FLAG[flag].flag.attribute for flag in BUILT_WITH]
        recipe = recipe_of(
            argparse.Namespace(
                source=options.source or Path(name),
                name=name,
                weights=options.weights,
                backend=",".join(manifest["backends"]),
                precision=max(precisions, key=PRECISIONS.index),
                **{attribute: getattr(options, attribute) for attribute in attributes},
            )
        )
    inputs = replace(recipe.inputs, shapes={**recipe.inputs.shapes, **shapes})
    return ModelGraph(replace(recipe, inputs=inputs), engine.share)
