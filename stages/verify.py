"""Runs a bundle on the reference's input sets and compares its outputs with the framework's own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from webkiln import canonical
from webkiln.backends import host
from webkiln.backends.frame import Layer
from webkiln.build import stage
from webkiln.errors import VerificationError

DATA = ()

NOISE_FLOOR = 1e-5
NOISE_FACTOR = 10.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far `got` is from `reference`; `relative` is None where the non-finite values do not match."""

    max_abs: float | None
    relative: float | None
    cosine: float | None


def compare(got: np.ndarray, reference: np.ndarray) -> Comparison:
    """Error of an output: max|got - reference| / max(max|reference|, 1e-6) over finite values; the others must match exactly."""
    a, b = got.astype(np.float64).ravel(), reference.astype(np.float64).ravel()
    finite = np.isfinite(b)
    if a.shape != b.shape or not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return Comparison(None, None, None)
    a, b = a[finite], b[finite]
    max_abs = float(np.abs(a - b).max(initial=0.0))
    scale = max(float(np.abs(b).max(initial=0.0)), 1e-6)
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    cosine = float(a @ b) / norm if norm > 0 and np.isfinite(norm) else None
    return Comparison(max_abs, max_abs / scale, cosine)


def bound_of(tolerance: float, noise: float) -> float:
    """The greatest relative error that passes: ten times the framework's own noise where that is above 1e-5."""
    return max(tolerance, NOISE_FACTOR * noise) if noise > NOISE_FLOOR else tolerance


def sets_of(archive: dict[str, np.ndarray], part: str) -> dict[str, dict[str, np.ndarray]]:
    """`<set>/<part>/<name>` -> {set: {name: array}}, in the archive's order."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for key, value in archive.items():
        name, kind, rest = key.split("/", 2)
        if kind == part:
            found.setdefault(name, {})[rest] = value
    return found


def read_archive(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def first_divergence(layers: tuple[Layer, ...], reference: dict[str, np.ndarray], tolerance: float) -> str | None:
    """The first layer, in program order, whose output is out of tolerance.

    A layer's output is the last value kept for it; where layers were merged (`conv+norm`), the value is that of the last.
    """
    outputs = {layer.layer: layer.value for layer in layers}
    for layer, got in outputs.items():
        expected = reference.get(layer, reference.get(layer.rpartition("+")[2]))
        if expected is None or expected.size != got.size:
            continue
        error = compare(got, expected).relative
        if error is None or error > tolerance:
            size = "non-finite values differ" if error is None else f"relative error {error:.3g}, bound {tolerance:.3g}"
            return f"the first layer that diverges is {layer} ({size})"
    return None


def describe(row: dict[str, Any]) -> str:
    if row["relative"] is None:
        return f"{row['set']}/{row['output']}: non-finite values differ"
    cosine = "-" if row["cosine"] is None else f"{row['cosine']:.8f}"
    errors = f"max abs {row['max_abs']:.3g}, relative {row['relative']:.3g} (bound {row['bound']:.3g})"
    return f"{row['set']}/{row['output']}: {errors}, cosine {cosine}"


def locate(layers: dict[str, tuple[Layer, ...]], path: Path | None, tolerance: float) -> str:
    """Where the error starts, as far as the bundle and the reference tell."""
    if path is None or not any(layers.values()):
        return "build with --layers to find the first layer that diverges"
    reference = read_archive(path)
    for name, kept in layers.items():
        prefix = f"{name}/"
        expected = {key.removeprefix(prefix): value for key, value in reference.items() if key.startswith(prefix)}
        if found := first_divergence(kept, expected, tolerance):
            return f"{found}, on the input set {name}"
    return "no kept layer diverges by itself: the error is in the last step or below every layer's bound"


def run(inputs: dict[str, Path], outputs: dict[str, Path], params: dict[str, Any]) -> None:
    bundle, backend, browser = inputs["bundle/"], params["backend"], params["browser"]
    reference = read_archive(inputs["reference.npz"])
    given, expected, noises = (sets_of(reference, part) for part in ("in", "out", "noise"))
    names = list(given)
    results = host.run_bundle(
        bundle,
        backend,
        [given[name] for name in names],
        host=browser,
        variant=params["variant"] or None,
        layers=bool(params.get("layers")),
        timeout=float(params.get("timeout", 600)),
    )
    rows: list[dict[str, Any]] = []
    for name, result in zip(names, results, strict=True):
        for output, wanted in expected[name].items():
            if output not in result.outputs:
                raise VerificationError(f"{bundle} has no output {output}; the reference has: build both from one model")
            comparison = compare(result.outputs[output], wanted)
            noise = float(np.max(noises.get(name, {}).get(output, np.float64(0.0))))
            bound = bound_of(float(params["tolerance"]), noise)
            rows.append(
                {
                    "set": name,
                    "output": output,
                    "max_abs": comparison.max_abs,
                    "relative": comparison.relative,
                    "cosine": comparison.cosine,
                    "noise": noise,
                    "bound": bound,
                    "passed": comparison.relative is not None and comparison.relative <= bound,
                }
            )
    where = f"{backend}{f' ({v})' if (v := results[0].variant) else ''} in {browser}"
    for row in rows:
        print(f"{where}: {describe(row)}{'' if row['passed'] else '  FAILED'}")
    if failed := [row for row in rows if not row["passed"]]:
        kept = {row["set"]: results[names.index(row["set"])].layers for row in failed}
        tolerance = max(row["bound"] for row in failed)
        lines = [f"{where}: {len(failed)} of {len(rows)} outputs differ from the framework's", *map(describe, failed)]
        raise VerificationError("\n  ".join([*lines, locate(kept, inputs.get("layers.npz"), tolerance)]))
    canonical.write(
        outputs["result.json"],
        {
            "schema": "webkiln.result/1",
            "backend": backend,
            "variant": results[0].variant,
            "browser": browser,
            "browser_version": host.version(browser),
            "load_ms": results[0].load_ms,
            "ms": {name: result.ms for name, result in zip(names, results, strict=True)},
            "outputs": rows,
        },
    )


if __name__ == "__main__":
    stage.main()
