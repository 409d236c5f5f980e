"""Run a bundle on the reference's input sets, and compare its outputs with the framework's."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from webkiln import canonical, npz
from webkiln.backends import host
from webkiln.backends.compare import bound_of, compare, layer_errors, layers_of, sets_of
from webkiln.backends.frame import FrameResult, KeptLayer
from webkiln.build import stage
from webkiln.errors import RunError, VerificationError
from webkiln.ir.types import Array

DATA = ()

FLOAT16_REMEDY = (
    "products were computed in float16, as on every device where that is faster: precision ="
    " 'float16' computes them in float32, and precision in [tolerances] is the largest error that"
    " is accepted"
)


def describe(row: dict[str, Any]) -> str:
    if row["relative"] is None:
        return f"{row['set']}/{row['output']}: non-finite values differ"
    cosine = "-" if row["cosine"] is None else f"{row['cosine']:.8f}"
    errors = (
        f"max abs {row['max_abs']:.3g}, relative {row['relative']:.3g} (bound {row['bound']:.3g})"
    )
    return f"{row['set']}/{row['output']}: {errors}, cosine {cosine}"


def locate(layers: dict[str, tuple[KeptLayer, ...]], path: Path | None, bound: float) -> str:
    """The first layer that diverges, if the bundle and the reference have layers."""
    if path is None or not any(layers.values()):
        return "the bundle has no layers; webkiln diff finds the first wrong layer"
    reference = npz.read(path)
    if not reference:
        return (
            "the reference has no layers to compare; webkiln diff --against BACKEND compares two"
            " backends"
        )
    for name, kept in layers.items():
        for error in layer_errors(kept, layers_of(reference, name), bound):
            if not error.passed:
                return f"the first layer that diverges is {error}, on the input set {name}"
    return "no layer exceeds its bound: the error is in the last step, or accumulates"


def refusal(error: RunError, backend: str, variant: str | None, browser: str) -> str | None:
    """The reason why a remote browser does not run a bundle, if the error states one."""
    without = error.code == "NoBackend" or (variant == "relaxed" and error.code == "CompileFailed")
    return (
        f"{backend}{f' ({variant})' if variant else ''}: {error}"
        if without and host.is_remote(browser)
        else None
    )


def run(inputs: dict[str, Path], outputs: dict[str, Path], params: dict[str, Any]) -> None:
    """Write the result. If the browser does not run this backend or variant, the result is the
    reason.
    """
    backend, browser, variant = params["backend"], params["browser"], params["variant"] or None
    reason = host.why_not(browser, backend, variant)
    if reason is None:
        try:
            return verify(inputs, outputs, params)
        except RunError as error:
            reason = refusal(error, backend, variant, browser)
            if reason is None:
                raise
    print(f"not verified in {browser}: {reason}")
    record = {
        "backend": backend,
        "variant": variant,
        "browser": browser,
        "browser_version": host.version(browser),
        "not_run": reason,
    }
    return canonical.write(
        outputs["result.json"], {"schema": "webkiln.result/1", **record, "outputs": []}
    )


def comparisons(
    name: str,
    result: FrameResult,
    expected: Mapping[str, Array],
    noises: Mapping[str, Array],
    bundle: Path,
    tolerance: float,
) -> Iterator[dict[str, Any]]:
    """A row for each expected output of one input set. Raises VerificationError if the bundle does
    not have it.
    """
    for output, expected_output in expected.items():
        if output not in result.outputs:
            raise VerificationError(
                f"{bundle} has no output {output}; the reference has it; build both from the"
                " same model"
            )
        comparison = compare(result.outputs[output], expected_output)
        noise = float(np.max(noises.get(output, np.float64(0.0))))
        bound = bound_of(tolerance, noise)
        yield {
            "set": name,
            "output": output,
            "max_abs": comparison.max_abs,
            "relative": comparison.relative,
            "cosine": comparison.cosine,
            "noise": noise,
            "bound": bound,
            "passed": comparison.relative is not None and comparison.relative <= bound,
        }


def described(backend: str, variant: str | None, browser: str, products: str | None) -> str:
    """Where a bundle ran, and how it computed products, if that varies."""
    return (
        f"{backend}{f' ({variant})' if variant else ''} in"
        f" {browser}{f', products in {products}' if products else ''}"
    )


def tolerance_of(entry: dict[str, Any], params: dict[str, Any]) -> float:
    """The tolerance of a backend with this entry in the manifest."""
    dot = params["dot_tolerance"] if entry.get("products") == "dot" else 0.0
    caches = params["cache_tolerance"] if "caches" in entry else 0.0
    return float(max(params["tolerance"], dot, caches))


def verify(inputs: dict[str, Path], outputs: dict[str, Path], params: dict[str, Any]) -> None:
    bundle, backend, browser = inputs["bundle/"], params["backend"], params["browser"]
    reference = npz.read(inputs["reference.npz"])
    given, expected, noises = (sets_of(reference, part) for part in ("in", "out", "noise"))
    names = list(given)
    found = host.run_bundle(
        bundle,
        backend,
        [given[name] for name in names],
        host=browser,
        variant=params["variant"] or None,
        layers=bool(params.get("layers")),
        timeout=float(params.get("timeout", 600)),
    )
    results = dict(zip(names, found, strict=True))
    entry = host.read_manifest(bundle)["backends"][backend]
    by_dot, tolerance = entry.get("products") == "dot", tolerance_of(entry, params)
    rows = [
        row
        for name, result in results.items()
        for row in comparisons(
            name, result, expected[name], noises.get(name, {}), bundle, tolerance
        )
    ]
    variant = found[0].variant
    products = "blocks of 8 bits" if by_dot else found[0].products
    where = described(backend, variant, browser, products)
    for row in rows:
        print(f"{where}: {describe(row)}{'' if row['passed'] else '  FAILED'}")
    if failed := [row for row in rows if not row["passed"]]:
        whose = (
            f"those recorded in {params['recorded']}" if "recorded" in params else "the framework's"
        )
        largest_bound = max(row["bound"] for row in failed)
        kept = {row["set"]: results[row["set"]].layers for row in failed}
        lines = [
            f"{where}: {len(failed)} of {len(rows)} outputs differ from {whose}",
            *map(describe, failed),
            *([FLOAT16_REMEDY] if products == "float16" else []),
        ]
        raise VerificationError(
            "\n  ".join([*lines, locate(kept, inputs.get("layers.npz"), largest_bound)])
        )
    canonical.write(
        outputs["result.json"],
        {
            "schema": "webkiln.result/1",
            "backend": backend,
            "variant": variant,
            "browser": browser,
            "browser_version": host.version(browser),
            "load_ms": found[0].load_ms,
            **({"products": products} if products else {}),
            **({"reference": params["recorded"]} if "recorded" in params else {}),
            "ms": {name: result.ms for name, result in results.items()},
            "outputs": rows,
        },
    )


if __name__ == "__main__":
    stage.main()
