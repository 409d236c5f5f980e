"""Perplexity of a language model of bytes whose caches of keys and values are rounded, in torch,
which tests/models/test_caches.py compares with bundles.

    .venv/bin/python -m tests.bench.bench_cache_perplexity [--steps 2000] [--tokens 4096]

The model is that of bench_perplexity, trained first. Tokens are bytes of a part of the text that it
has not read. The table shows the perplexity, its ratio to that of float32, the share of bytes for
which the most probable prediction is the same, and the largest difference of a logit relative to
the largest logit.
"""

import argparse

import numpy as np
import torch

from tests.backends.small_llama import rounded
from tests.bench import small_decoder
from tests.bench.bench_perplexity import perplexity, trained
from webkiln.build.table import table
from webkiln.recipe.values import CACHES


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--tokens", type=int, default=4096)
    options = parser.parse_args()
    model, (_, tested) = trained(options.steps, None), small_decoder.text()
    length = small_decoder.LENGTH
    starts = range(0, options.tokens, length)
    rows = torch.stack([tested[start : start + length] for start in starts])
    expected = torch.stack([tested[start + 1 : start + length + 1] for start in starts]).numpy()
    found = {}
    for dtype in CACHES:
        for layer in model.layers:
            assert isinstance(layer, small_decoder.Layer)
            layer.held = lambda x, dtype=dtype: rounded(x, dtype)
        with torch.no_grad():
            found[dtype] = model(rows).numpy()
    exact, lines = found["float32"], []
    whole = perplexity(exact, expected)
    for dtype, values in found.items():
        value = perplexity(values, expected)
        same = (values.argmax(-1) == exact.argmax(-1)).mean()
        error = np.abs(values - exact).max() / np.abs(exact).max()
        lines.append((dtype, f"{value:.4f}", f"{value / whole:.5f}", f"{same:.4f}", f"{error:.1e}"))
    head = ("caches", "perplexity", "/ float32", "same byte", "error")
    print(table(f"{expected.size} bytes", head, lines))


if __name__ == "__main__":
    main()
