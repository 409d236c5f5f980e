"""Time and memory to build a Keras model of BERT-base's size. Also runs its bundle with sequences
of several lengths.

    .venv/bin/python -m tests.bench.bench_bert [--layers 12]
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import keras
import numpy as np
from keras import layers

from tests.bench.processes import measure
from webkiln.backends.compare import relative_error
from webkiln.backends.host import run_bundle

WIDTH, HEADS, VOCABULARY, LONGEST = 768, 12, 30522, 512
LENGTHS = (1, 7, 128, 512)
MODEL = "import sys, keras; keras.models.load_model(sys.argv[1])"


def bert(count: int) -> keras.Model:
    """A model with int32 inputs tokens and positions [N, T] and the output [N, T, 768]."""
    tokens, positions = (
        keras.Input((None,), dtype="int32", name=name) for name in ("tokens", "positions")
    )
    x = layers.Embedding(VOCABULARY, WIDTH)(tokens) + layers.Embedding(LONGEST, WIDTH)(positions)
    x = layers.LayerNormalization(epsilon=1e-12)(x)
    for _ in range(count):
        attended = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(x, x)
        x = layers.LayerNormalization(epsilon=1e-12)(x + attended)
        hidden = layers.Dense(4 * WIDTH, activation="gelu")(x)
        x = layers.LayerNormalization(epsilon=1e-12)(x + layers.Dense(WIDTH)(hidden))
    return keras.Model([tokens, positions], x, name="bert")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, bundle = Path(folder) / "bert.keras", Path(folder) / "bundle"
        model = bert(options.layers)
        print(f"{model.count_params() / 1e6:.0f} million parameters", flush=True)
        model.save(path)
        environment = {**os.environ, "WEBKILN_CACHE": f"{folder}/cache"}
        seconds, memory = measure([sys.executable, "-c", MODEL, str(path)])
        print(f"loaded by Keras: {seconds:.1f} s, {memory / 1e9:.2f} GB", flush=True)
        shapes = ["--input-shape", "tokens=1,T", "--input-shape", "positions=1,T"]
        command = [
            str(Path(sys.executable).with_name("webkiln")),
            "build",
            str(path),
            *shapes,
            "--backend",
            "wasm",
            "-o",
            str(bundle),
        ]
        seconds, memory = measure(command, environment)
        print(f"webkiln build: {seconds:.1f} s, {memory / 1e9:.2f} GB", flush=True)
        for length in LENGTHS:
            generator = np.random.default_rng(length)
            inputs = {
                "tokens": generator.integers(0, VOCABULARY, (1, length)).astype(np.int32),
                "positions": np.arange(length, dtype=np.int32)[None],
            }
            expected = np.asarray(model([inputs["tokens"], inputs["positions"]], training=False))
            begin = time.perf_counter()
            model([inputs["tokens"], inputs["positions"]], training=False)
            keras_seconds = time.perf_counter() - begin
            _, result = run_bundle(bundle, "wasm", [inputs, inputs])
            (output,) = result.outputs.values()
            error = relative_error(output, expected)
            print(
                f"T = {length}: error {error:.1e}, {result.ms:.0f} ms;"
                f" Keras {keras_seconds * 1000:.0f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
