"""Time a language model of 135 M parameters with 4-bit weights (GGUF, random values) against wllama
(llama.cpp), in one page of headless Chromium, in one thread: milliseconds for a word, and for
reading a prompt of 64 words.

    (cd tests/bench/rivals && npm ci) && .venv/bin/pip install --no-deps gguf
    .venv/bin/python -m tests.bench.bench_decoder [--kind Q4_0] [--rounds 3] [--words 33]
        [--products dot,exact]

The table lists the least median of the rounds. It also compares the words with those of torch.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from gguf import GGMLQuantizationType, GGUFWriter, TokenType, quants

from tests.bench import decoder, llama
from tests.bench.bench_networks import bench_page
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.frontends.torch.weights import read_state
from webkiln.recipe.recipe import Computation, Recipe
from webkiln.recipe.sources import ModuleSource

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PARTS = ("step", "prompt")
BYTES = 256
FIRST_WORD = 5


def write_gguf(path: Path, kind: str) -> None:
    """The model with quantized matrices, and a vocabulary of numbers."""
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(decoder.WIDTH)
    writer.add_block_count(decoder.LAYERS)
    writer.add_feed_forward_length(decoder.INNER)
    writer.add_head_count(decoder.HEADS)
    writer.add_head_count_kv(decoder.KEYS)
    writer.add_layer_norm_rms_eps(llama.EPSILON)
    writer.add_rope_dimension_count(decoder.HEAD)
    writer.add_rope_freq_base(llama.BASE)
    writer.add_vocab_size(decoder.WORDS)
    write_vocabulary(writer)
    names = {value: key for key, value in decoder.PARTS.items()}
    others = {"embed.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}
    for name, value in decoder.model().named_parameters():
        number, _, rest = name.removeprefix("layers.").partition(".")
        part = names.get(rest.partition(".")[0])
        array = value.detach().numpy()
        raw = GGMLQuantizationType[kind] if array.ndim == 2 else None
        data = array if raw is None else quants.quantize(array, raw)
        target = others.get(name) or f"blk.{number}.{part}.weight"
        writer.add_tensor(target, data, raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_vocabulary(writer: Any) -> None:
    special = [b"<unk>", b"<s>", b"</s>"]
    pieces = [f"<0x{byte:02X}>".encode() for byte in range(BYTES)]
    words = [f"<{n}>".encode() for n in range(decoder.WORDS - len(special) - BYTES)]
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL]
    kinds += [TokenType.BYTE] * BYTES + [TokenType.USER_DEFINED] * len(words)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*special, *pieces, *words])
    writer.add_token_scores([0.0] * decoder.WORDS)
    writer.add_token_types(kinds)
    for number, name in enumerate(("unk", "bos", "eos")):
        getattr(writer, f"add_{name}_token_id")(number)


def publish(folder: Path, products: str) -> int:
    """Build both bundles. Returns the bytes of the one for a step."""
    sizes = []
    for part in PARTS:
        source = ModuleSource(ROOT, "tests.bench.decoder", part, weights=folder / "model.gguf")
        how = Computation(products=products)
        recipe = Recipe(part, source, backends=("wasm",), computation=how)
        with Engine(folder / "state") as engine:
            actions = ModelGraph(recipe, engine.share)
            target = folder / products / part
            target.parent.mkdir(exist_ok=True)
            engine.publish(actions.bundle(Selection(("wasm",))), "bundle/", target)
        sizes.append(sum(path.stat().st_size for path in target.rglob("*") if path.is_file()))
    return sizes[0]


@torch.no_grad()
def expected_words(path: Path, count: int) -> list[int]:
    module = decoder.Decoder().eval()
    module.load_state_dict(decoder.state_dict(read_state(path)))
    words = [FIRST_WORD]
    for position in range(count):
        words.append(int(module(torch.tensor([words[-1:]]), torch.tensor([position]))))
    return words[1:]


def measure(session: Any, calls: Sequence[str], rounds: int) -> dict[str, list[dict[str, Any]]]:
    """The results of each call of the page's module, in interleaved rounds."""
    results: dict[str, list[dict[str, Any]]] = {call: [] for call in calls}
    for _ in range(rounds):
        for call in calls:
            script = (
                "const done = arguments[0]; import('/data/bench_decoder.mjs')"
                f".then((m) => m.{call}).then(done, (e) => done({{error: String(e)}}))"
            )
            result = session.execute_async_script(script)
            if "error" in result:
                raise RuntimeError(result["error"])
            results[call].append(result)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", default="Q4_0")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--words", type=int, default=33)
    parser.add_argument("--products", default="dot")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        file = folder / "model.gguf"
        write_gguf(file, options.kind)
        (folder / "bench_decoder.mjs").write_bytes((HERE / "bench_decoder.mjs").read_bytes())
        names = options.products.split(",")
        sizes = {name: publish(folder, name) for name in names}
        calls = [f"webkiln('{name}', {decoder.PROMPT}, {options.words})" for name in names]
        calls.append(f"wllama({decoder.PROMPT}, {options.words})")
        with bench_page(folder) as session:
            results = measure(session, calls, options.rounds)
        expected = expected_words(file, options.words)
        print(f"file {file.stat().st_size / 1e6:.1f} MB")
    for name, found in zip([*names, "wllama"], results.values(), strict=True):
        read = min(item["read"] for item in found)
        word = min(item["median"] for item in found)
        print(f"{name:8} {word:8.1f} ms a word, prompt {read:8.0f} ms", end="")
        if name in sizes:
            same = [a == b for a, b in zip(found[0]["told"], expected, strict=True)]
            equal = (*same, False).index(False)
            print(f", bundle {sizes[name] / 1e6:.1f} MB, {equal} words as in torch", end="")
        print()


if __name__ == "__main__":
    main()
