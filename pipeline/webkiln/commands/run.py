"""`webkiln run`: run a bundle on the arrays of an .npz file."""

import argparse
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from webkiln import npz
from webkiln.backends import host
from webkiln.codegen.declarations import inputs_of
from webkiln.errors import OutputError, RecipeError, ShapeError, SourceError
from webkiln.ir.input_names import by_input
from webkiln.ir.notation import size_from_json
from webkiln.ir.solve import solve

TEXT = {"string": np.str_}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="the bundle's folder")
    parser.add_argument("--backend", help="default: the backend that load selects")
    parser.add_argument(
        "--variant",
        help="a variant of the wasm backend; default: the fastest that the engine supports",
    )
    parser.add_argument(
        "--inputs", type=Path, required=True, metavar="NPZ", help="one array per input, by name"
    )
    parser.add_argument(
        "--outputs",
        type=Path,
        required=True,
        metavar="NPZ",
        help="write one array per output, by name",
    )
    parser.add_argument("--browser", choices=host.HOSTS, default="node")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS")


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        return npz.read(path)
    except FileNotFoundError as error:
        raise SourceError(f"{path}: no such file; --inputs takes an .npz file") from error
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise SourceError(
            f"{path} is not an .npz file ({error}); write it with numpy.savez"
        ) from error


def fit(inputs: Mapping[str, np.ndarray], tensors: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Check arrays against the bundle's inputs. Numbers are cast if numpy's "same_kind" or "safe"
    casting allows it.
    """
    names = [tensor["name"] for tensor in tensors]
    inputs = by_input(inputs, names)
    if unknown := sorted(set(inputs) - set(names)):
        raise RecipeError(
            f"there is no input {', '.join(unknown)}; the inputs are {', '.join(names)}"
        )
    if missing := [name for name in names if name not in inputs]:
        raise RecipeError(
            f"input {', '.join(missing)} is missing; the inputs are {', '.join(names)}"
        )
    fitted, sizes = {}, dict[str, int]()
    for tensor in tensors:
        name, value, dtype = (
            tensor["name"],
            inputs[tensor["name"]],
            np.dtype(TEXT.get(tensor["dtype"], tensor["dtype"])),
        )
        try:
            solve(map(size_from_json, tensor["shape"]), value.shape, sizes)
        except (ValueError, ShapeError):
            known = (
                f" with {', '.join(f'{key} = {size}' for key, size in sizes.items())}"
                if sizes
                else ""
            )
            raise RecipeError(
                f"input {name}: expected shape {tensor['shape']}{known}, got {list(value.shape)}"
            ) from None
        if "U" in (dtype.kind, value.dtype.kind) and dtype.kind != value.dtype.kind:
            raise RecipeError(
                f"input {name}: expected {'strings' if dtype.kind == 'U' else dtype}, got"
                f" {value.dtype}"
            )
        if not np.can_cast(value.dtype, dtype, "same_kind"):
            raise RecipeError(
                f"input {name}: expected {dtype}, got {value.dtype}; convert it with numpy's astype"
            )
        fitted[name] = value if dtype.kind == "U" else value.astype(dtype)
    return fitted


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as file:
            temporary = Path(file.name)
            npz.write(file, arrays)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise OutputError(f"{path} cannot be written ({error.strerror or error})") from error


def choose_backend(args: argparse.Namespace, manifest: Mapping[str, Any]) -> str:
    """The requested backend, or the best one. Raises RecipeError if the bundle does not have it or
    its variant.
    """
    backends = list(manifest["backends"])
    backend: str = args.backend or host.first_backend(manifest, args.browser)
    if backend not in backends:
        raise RecipeError(f"{args.bundle} has no backend '{backend}'; it has {', '.join(backends)}")
    variants = [variant["name"] for variant in manifest["backends"][backend].get("variants", ())]
    if args.variant is not None and args.variant not in variants:
        raise RecipeError(
            f"the backend {backend} has no variant '{args.variant}'; it has"
            f" {', '.join(variants) or 'none'}"
        )
    return backend


def run(args: argparse.Namespace) -> int:
    manifest: dict[str, Any] = host.read_manifest(args.bundle)
    backend = choose_backend(args, manifest)
    inputs = fit(read_arrays(args.inputs), inputs_of(manifest))
    (result,) = host.run_bundle(
        args.bundle,
        backend,
        [inputs],
        host=args.browser,
        variant=args.variant,
        timeout=args.timeout,
    )
    write_arrays(args.outputs, result.outputs)
    used = f"{backend} ({result.variant})" if result.variant else backend
    print(f"{args.bundle}: {used} in {args.browser}, {result.ms:.2f} ms, outputs in {args.outputs}")
    return 0
