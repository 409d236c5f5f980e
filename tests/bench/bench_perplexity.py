"""Perplexity of a language model of bytes whose weights are quantized: with exact products, and
with products of activations that are rounded to 8 bits, on wasm in Chromium.

    .venv/bin/pip install --no-deps gguf
    .venv/bin/python -m tests.bench.bench_perplexity [--steps 2000] [--tokens 1024] [--model FILE]

The model is trained first, and kept in FILE if that is given. Tokens are bytes of a part of the
text that it has not read. The table shows the perplexity, its ratio to that of the float32 model,
the share of bytes for which the most probable prediction is that of exact products of the same
weights, and the largest difference of a logit relative to the largest logit.
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFWriter, quants

from tests.bench import small_decoder
from webkiln.backends import host
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.table import table
from webkiln.ir.types import Array
from webkiln.recipe.recipe import Computation, Recipe
from webkiln.recipe.sources import ModuleSource

ROOT = Path(__file__).parents[2]
FORMS = (
    ("F32", "exact"),
    ("Q8_0", "exact"),
    ("Q8_0", "dot"),
    ("Q4_0", "exact"),
    ("Q4_0", "dot"),
    ("Q4_1", "exact"),
    ("Q4_1", "dot"),
)
"""The type of the weights in the GGUF file, and the option `products`."""


def trained(steps: int, file: Path | None) -> small_decoder.Decoder:
    model = small_decoder.Decoder().eval()
    if file is not None and file.exists():
        model.load_state_dict(torch.load(file, weights_only=True))
        return model
    for step, (found, loss) in enumerate(small_decoder.train(steps)):
        model = found
        if step % 200 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss:.3f}", flush=True)
    if file is not None:
        torch.save(model.state_dict(), file)
    return model


def write_gguf(model: small_decoder.Decoder, kind: str, path: Path) -> None:
    """The weights under their names in PyTorch, with quantized matrices."""
    writer = GGUFWriter(path, "llama")
    for name, value in model.state_dict().items():
        array = value.numpy()
        raw = GGMLQuantizationType[kind] if array.ndim == 2 else GGMLQuantizationType.F32
        writer.add_tensor(name, quants.quantize(array, raw), raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def logits(file: Path, products: str, folder: Path, rows: Sequence[Array]) -> Array:
    """What a bundle computes for each row of words, [rows, length, words]."""
    source = ModuleSource(ROOT, "tests.bench.small_decoder", "windows", weights=file)
    how = Computation(products=products)
    recipe = Recipe("windows", source, backends=("wasm",), computation=how)
    with Engine(folder / "state") as engine:
        actions = ModelGraph(recipe, engine.share)
        bundle = folder / f"{file.stem}-{products}"
        engine.publish(actions.bundle(Selection(("wasm",))), "bundle/", bundle)
    manifest = host.read_manifest(bundle)
    (name,) = (item["name"] for item in manifest["inputs"])
    given = [{name: row[None].astype(manifest["inputs"][0]["dtype"])} for row in rows]
    results = host.run_bundle(bundle, "wasm", given, host="chromium")
    return np.concatenate([next(iter(result.outputs.values())) for result in results])


def perplexity(values: Array, expected: Array) -> float:
    wide = values.astype(np.float64)
    largest = wide.max(-1, keepdims=True)
    logarithms = wide - largest - np.log(np.exp(wide - largest).sum(-1, keepdims=True))
    return math.exp(-np.take_along_axis(logarithms, expected[..., None], -1).mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    model, (_, tested) = trained(options.steps, options.model), small_decoder.text()
    length = small_decoder.LENGTH
    starts = range(0, options.tokens, length)
    rows = [tested[start : start + length].numpy() for start in starts]
    expected = np.stack([tested[start + 1 : start + length + 1].numpy() for start in starts])
    found: dict[tuple[str, str], Array] = {}
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for kind, products in FORMS:
            file = folder / f"{kind}.gguf"
            if not file.exists():
                write_gguf(model, kind, file)
            found[kind, products] = logits(file, products, folder, rows)
    lines = []
    whole = perplexity(found["F32", "exact"], expected)
    for (kind, products), values in found.items():
        exact = found[kind, "exact"]
        value = perplexity(values, expected)
        same = (values.argmax(-1) == exact.argmax(-1)).mean()
        error = np.abs(values - exact).max() / np.abs(exact).max()
        texts = (f"{value:.4f}", f"{value / whole:.4f}", f"{same:.4f}", f"{error:.1e}")
        lines.append((kind, products, *texts))
    head = ("weights", "products", "perplexity", "/ float32", "same byte", "error")
    print(table(f"{expected.size} bytes, wasm in Chromium", head, lines))


if __name__ == "__main__":
    main()
