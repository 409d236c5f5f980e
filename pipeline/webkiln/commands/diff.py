"""`webkiln diff`: the errors of a bundle's layers, in order, against another backend or the
framework, up to the first that is wrong.
"""

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import replace
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
from webkiln.commands.build import (
    add_cut_arguments,
    add_format_argument,
    add_reference_argument,
    parameters_of,
    recipe_of,
    shipped,
)
from webkiln.errors import RecipeError, VerificationError
from webkiln.ir.types import Array
from webkiln.recipe import PRECISIONS, TOLERANCES, Recipe, choose, read_recipe, with_parameters

REFERENCE = "reference"
NO_LAYERS = (
    "  the reference has no layers, only outputs; --against another backend shows those in which"
    " the two differ"
)

Sets = dict[str, dict[str, Array]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="the folder of the bundle")
    parser.add_argument(
        "--backend",
        help=(
            "whose errors; default: the best that the bundle and the browser have, as its load does"
        ),
    )
    parser.add_argument("--variant", help="one variant of that backend, if it is wasm")
    parser.add_argument(
        "--against",
        default=REFERENCE,
        help=(
            "another backend of the bundle, or reference (default): what the framework computes, or"
            " what was recorded of it"
        ),
    )
    parser.add_argument(
        "--bound",
        type=float,
        help="the greatest relative error that passes; default: that of the encoding",
    )
    parser.add_argument("--browser", choices=host.HOSTS, default="node")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument(
        "--source",
        type=Path,
        help="what the bundle was built from; default: the model of its name in models/",
    )
    add_format_argument(parser)
    add_reference_argument(parser)
    parser.add_argument(
        "--weights", type=Path, help="the weights of an architecture, as the bundle was built with"
    )
    parser.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="INPUT=VALUE",
        help="as the bundle was built with",
    )
    add_cut_arguments(parser)
    parser.add_argument("--signature", default="", help="as the bundle was built with")
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for the function that makes the model",
    )
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        type=Path,
        help="a Python file that registers handlers",
    )
    parser.add_argument(
        "--operators",
        action="append",
        default=[],
        type=Path,
        help="a Python file that defines operators",
    )
    parser.add_argument(
        "--reads",
        action="append",
        default=[],
        type=Path,
        help="what the model's own code may read elsewhere",
    )
    parser.add_argument(
        "--trust-source", action="store_true", help="run code that the model file carries"
    )


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
    state = state_folder(options.bundle)
    layers: Mapping[str, Array] = {}
    with (
        tempfile.TemporaryDirectory(prefix="webkiln-diff-") as scratch,
        Engine(state, progress=progress.console()) as engine,
    ):
        if against == REFERENCE:
            action = _actions(
                options, manifest, engine, "the framework's outputs are needed"
            ).reference()
            found = engine.run(action).outputs
            reference, layers = (
                npz.read(engine.cache.store.file(found[name]))
                for name in ("reference.npz", "layers.npz")
            )
            inputs, outputs, bounds = _reference_sets(
                reference,
                options.bound or _tolerance(manifest, TOLERANCES[manifest["encoding"]], backend),
            )
        else:
            inputs = sample_inputs(manifest)
            outputs, bounds = (
                {},
                dict.fromkeys(
                    inputs,
                    options.bound or _tolerance(manifest, TOLERANCES["float32"], backend, against),
                ),
            )
        results = _run(options, options.bundle, backend, options.variant, inputs)
        kept, bundle = results, options.bundle
        if not any(result.layers for result in results.values()):
            print(f"{options.bundle} keeps no layers; they are those of a bundle built anew")
            bundle = Path(scratch) / "bundle"
            choice = Selection(backends, manifest["encoding"], layers=True)
            engine.publish(
                _actions(options, manifest, engine, "it keeps no layers").bundle(choice),
                "bundle/",
                bundle,
            )
            kept = _run(options, bundle, backend, options.variant, inputs)
        if against != REFERENCE:
            expected = _run(options, bundle, against, None, inputs)
    for name, result in results.items():
        wanted = (
            {**layers_of(layers, name), **_named(outputs[name])}
            if against == REFERENCE
            else _values(expected[name])
        )
        products = f" (products in {result.products})" if result.products else ""
        print(f"{backend}{products} against {against} in {options.browser}, input set {name}")
        if against == REFERENCE and not layers:
            print(NO_LAYERS)
        for error in layer_errors((*kept[name].layers, *_layers(result)), wanted, bounds[name]):
            print(f"  {error}")
            if not error.passed:
                raise VerificationError(
                    f"{backend} differs from {against} first in {error}, on the input set {name}"
                )
    return 0


def _tolerance(manifest: Mapping[str, Any], bound: float, *backends: str) -> float:
    """The bound of those, or what memory that holds float16 needs where it is more."""
    halved = any("precision" in manifest["backends"][backend] for backend in backends)
    return max(bound, TOLERANCES["precision"]) if halved else bound


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


def _reference_sets(
    reference: Mapping[str, Array], tolerance: float
) -> tuple[Sets, Sets, dict[str, float]]:
    """Inputs, outputs and the bound of each set."""
    inputs, outputs, noises = (sets_of(reference, part) for part in ("in", "out", "noise"))
    return (
        inputs,
        outputs,
        {
            name: max(bound_of(tolerance, float(noise)) for noise in noises[name].values())
            for name in inputs
        },
    )


def _named(outputs: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs beside layers, by names that no layer has."""
    return {f"output {name}": value for name, value in outputs.items()}


def _layers(result: FrameResult) -> tuple[KeptLayer, ...]:
    return tuple(KeptLayer(name, name, value) for name, value in _named(result.outputs).items())


def _values(result: FrameResult) -> dict[str, Array]:
    return {**{layer.layer: layer.value for layer in result.layers}, **_named(result.outputs)}


def _actions(
    options: argparse.Namespace, manifest: Mapping[str, Any], engine: Engine, why: str
) -> ModelGraph:
    """The actions of what the bundle was built from; RecipeError says what to do where that is not
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
        recipe: Recipe = with_parameters(read_recipe(local), parameters_of(options))
        recipe = (
            recipe
            if options.reference is None
            else replace(recipe, reference=options.reference.absolute())
        )
    elif options.source is None and name not in shipped():
        raise RecipeError(
            f"{options.bundle}: {why}, and what it was built from is not known; give it with"
            " --source"
        )
    else:
        told = {
            "source": options.source or Path(name),
            "name": name,
            "backend": ",".join(manifest["backends"]),
            "precision": max(
                (entry.get("precision", "float32") for entry in manifest["backends"].values()),
                key=PRECISIONS.index,
            ),
            "batch_size": 1,
            "dim": [],
            "input_shape": [],
        }
        recipe = recipe_of(argparse.Namespace(**{**vars(options), **told}))
    return ModelGraph(replace(recipe, input_shapes={**recipe.input_shapes, **shapes}), engine.share)
