"""Train the networks of text_generation.py on the text of Python's language reference, which is
part of Python. Usage: python models/train_text.py [text_lstm]

Writes float16 weights to weights.npz in each network's folder, and prints the loss on held-out text
in bits per character.
"""

import re
import sys
from pydoc_data.topics import topics

import keras
import numpy as np
from text_generation import FOLDER, MEMORY, NETWORKS, encode

SEED = 20
STEPS = {"text_decoder": 2000, "text_lstm": 2000}
BATCH = 16
HELD_OUT = 0.05
MAXIMUM_BITS = 2.6


def prose() -> str:
    """Paragraphs that consist mostly of words, one per line."""
    paragraphs = [
        " ".join(part.split())
        for topic in sorted(topics)
        for part in re.split(r"\n\s*\n", topics[topic])
    ]
    unique = dict.fromkeys(
        part for part in paragraphs if len(part) > 80 and part[0].isupper() and part[-1] == "."
    )
    return (
        "\n".join(
            part
            for part in unique
            if sum(letter.isalpha() or letter == " " for letter in part) > 0.84 * len(part)
        )
        + "\n"
    )


def windows(
    text: np.ndarray, generator: np.random.Generator, count: int
) -> tuple[np.ndarray, np.ndarray]:
    starts = generator.integers(0, len(text) - MEMORY - 1, size=count)
    rows = np.stack([text[start : start + MEMORY + 1] for start in starts])
    return rows[:, :-1], rows[:, 1:]


def train(name: str, text: np.ndarray) -> None:
    keras.utils.set_random_seed(SEED)
    generator = np.random.default_rng(SEED)
    end = int(len(text) * (1 - HELD_OUT))
    model = NETWORKS[name](stateful=False)
    rate = keras.optimizers.schedules.CosineDecay(
        1e-4, STEPS[name] - 100, warmup_target=4e-3, warmup_steps=100, alpha=0.02
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(
        keras.optimizers.AdamW(rate, weight_decay=0.05, clipnorm=1.0), loss, jit_compile=False
    )
    per_round = STEPS[name] // 10
    for _ in range(10):
        model.fit(*windows(text[:end], generator, per_round * BATCH), batch_size=BATCH, verbose=2)
    bits = model.evaluate(*windows(text[end:], generator, 64), verbose=0) / np.log(2)
    print(
        f"{name}: {model.count_params()} parameters, {bits:.2f} bits a character on text that was"
        " held out"
    )
    if bits > MAXIMUM_BITS:
        raise SystemExit(f"{name}: more than {MAXIMUM_BITS} bits; not written")
    np.savez_compressed(
        FOLDER / name / "weights.npz",
        *[np.asarray(variable).astype(np.float16) for variable in model.trainable_variables],
    )


def main() -> None:
    text = encode(prose())
    print(f"{len(text)} characters")
    for name in sys.argv[1:] or NETWORKS:
        (FOLDER / name).mkdir(exist_ok=True)
        train(name, text)


if __name__ == "__main__":
    main()
