"""What `webkiln inspect` and `webkiln build` say about quantised weights, on files of onnxruntime's
quantizer, of TensorFlow Lite's converter and of llama.cpp's formats; what `webkiln explain` shows
of products of blocks.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime import quantization

from tests.commands.conftest import Command
from tests.commands.tables import rows
from tests.frontends.onnx.models import floats, model, weight
from tests.frontends.torch.quantized_nets import COLUMNS, ROWS
from tests.quantizer import Samples

FRONTENDS = Path(__file__).parents[1] / "frontends"
BLOCKS = FRONTENDS / "onnx" / "quantized" / "operators.onnx"
MATRICES = FRONTENDS / "torch" / "corpus" / "matrices.gguf"
FLOAT = "of dequantised weights, decoded when the model is loaded (the other factor is float)"
DOT = "products of 4-bit codes, by activations rounded to 8 bits"
ROUNDED = "by activations rounded to 8 bits"
READ = f"decoded as they are read; with --products dot, {ROUNDED}"
node = helper.make_node


def write_network(folder: Path) -> Path:
    """A convolution, a product, and a product that the quantizers leave out."""
    nodes = [
        node("Conv", ["x", "k"], ["a"], "conv", pads=[1] * 4),
        node("Relu", ["a"], ["b"], "relu"),
        node("GlobalAveragePool", ["b"], ["c"], "pool"),
        node("Flatten", ["c"], ["d"], "flatten"),
        node("MatMul", ["d", "w"], ["e"], "hidden"),
        node("MatMul", ["e", "v"], ["y"], "head"),
    ]
    weights = [weight("k", 64, 8, 3, 3), weight("w", 64, 96), weight("v", 96, 48)]
    path = folder / "network.onnx"
    onnx.save(model(nodes, [floats("x", 1, 8, 12, 12)], [floats("y", 1, 48)], weights), path)
    return path


def static(form: quantization.QuantFormat) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        rng = np.random.default_rng(0)
        samples = [{"x": rng.standard_normal((1, 8, 12, 12), np.float32)} for _ in range(3)]
        quantization.quantize_static(
            write_network(folder),
            folder / "static.onnx",
            Samples(samples),
            quant_format=form,
            nodes_to_exclude=["head"],
        )
        return folder / "static.onnx"

    return write


def dynamic(folder: Path) -> Path:
    quantization.quantize_dynamic(
        write_network(folder),
        folder / "dynamic.onnx",
        weight_type=quantization.QuantType.QInt8,
        op_types_to_quantize=["MatMul"],
        nodes_to_exclude=["head"],
    )
    return folder / "dynamic.onnx"


def weights_only(folder: Path) -> Path:
    """A product whose weights are int8, with a scale for each column."""
    rng = np.random.default_rng(0)
    codes = rng.integers(-127, 127, (256, 192), np.int8, endpoint=True)
    scales = rng.uniform(0.01, 0.1, 192).astype(np.float32)
    nodes = [
        node("DequantizeLinear", ["q", "s"], ["w"], axis=1),
        node("MatMul", ["x", "w"], ["y"], "dense"),
    ]
    weights = [numpy_helper.from_array(codes, "q"), numpy_helper.from_array(scales, "s")]
    onnx.save(
        model(nodes, [floats("x", 4, 256)], [floats("y", 4, 192)], weights), folder / "only.onnx"
    )
    return folder / "only.onnx"


STATIC = {
    "storage": "2 of 3 weight tensors quantised to 8 bits; 1 in float32",
    "products": "2 in 8-bit integers; 1 of float weights: head",
}
FILES = [
    (write_network, {}),
    (static(quantization.QuantFormat.QDQ), STATIC),
    (static(quantization.QuantFormat.QOperator), STATIC),
    (
        dynamic,
        {
            "storage": "1 of 3 weight tensors quantised to 8 bits; 2 in float32",
            "products": "1 in 8-bit integers; 2 of float weights: conv, head",
        },
    ),
    (
        weights_only,
        {
            "storage": "1 of 1 weight tensors quantised to 8 bits",
            "products": f"1 {FLOAT}",
            "on wasm": f"1 product of 8-bit codes, {READ}",
        },
    ),
    (
        lambda folder: BLOCKS,
        {
            "storage": ("2 of 3 weight tensors quantised to 4 bits, blocks of 32; 1 in 4 bits"),
            "products": f"2 {FLOAT}",
            "on wasm": f"2 {DOT}",
        },
    ),
    (
        lambda folder: FRONTENDS / "tflite" / "corpus" / "separable.int8.tflite",
        {
            "storage": "2 of 2 weight tensors quantised to 8 bits",
            "products": "2 in 8-bit integers",
        },
    ),
]
IDS = ["float32", "qdq", "qoperator", "dynamic", "weights", "blocks", "tflite"]


@pytest.mark.parametrize(("write", "expected"), FILES, ids=IDS)
def test_inspect(
    write: Callable[[Path], Path], expected: dict[str, str], webkiln: Command, tmp_path: Path
) -> None:
    path = write(tmp_path)
    done = webkiln("inspect", path, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["quantisation"] == expected
    text = " ".join(webkiln("inspect", path).stdout.split())
    assert [value for value in expected.values() if value not in text] == []
    assert ("weight tensors" in text) == bool(expected)


def described(text: str) -> dict[str, str]:
    """The lines of `webkiln build` about quantised weights."""
    return dict(re.findall(r"^  (storage|products|on wasm) +(.*)$", text, re.MULTILINE))


@pytest.mark.parametrize("position", [0, 1, 5], ids=[IDS[0], IDS[1], IDS[5]])
def test_build_says_the_same(position: int, webkiln: Command, tmp_path: Path) -> None:
    write, expected = FILES[position]
    path = write(tmp_path)
    for _ in range(2):
        done = webkiln("build", path, "-o", "public/it", "--backend", "wasm,js")
        assert done.returncode == 0, done.stderr
        assert described(done.stdout) == expected


def test_the_option_is_named_where_it_applies(webkiln: Command, tmp_path: Path) -> None:
    for arguments, expected in (
        (("--backend", "js"), {"products": f"2 {FLOAT}"}),
        (
            ("--backend", "wasm", "--products", "exact"),
            {"on wasm": f"2 products of 4-bit codes, {READ}"},
        ),
        (("--backend", "wasm", "--products", "dot"), {"on wasm": f"2 {DOT}"}),
        (
            ("--backend", "webgpu,wasm", "--products", "dot"),
            {"on webgpu and wasm": f"2 {DOT}"},
        ),
        (
            ("--backend", "webgpu,wasm"),
            {
                "on webgpu": f"2 products of 4-bit codes, {READ}",
                "on wasm": f"2 {DOT}",
            },
        ),
        (
            ("--backend", "wasm,js", "--products", "dot"),
            {"products": f"2 {FLOAT}", "on wasm": f"2 {DOT}"},
        ),
    ):
        done = webkiln("inspect", BLOCKS, "--json", *arguments)
        found = json.loads(done.stdout)["quantisation"]
        assert {key: text for key, text in found.items() if key != "storage"} == expected


def test_gpus_round_few_rows(webkiln: Command, tmp_path: Path) -> None:
    """Sizes that are not known may be large."""
    form = {"bits": 4, "block_size": 32, "K": 64, "N": 192}
    weights = [
        numpy_helper.from_array(np.zeros((192, 2, 16), np.uint8), "q"),
        numpy_helper.from_array(np.ones(384, np.float32), "s"),
    ]
    for count, how in (
        (16, ROUNDED),
        (17, "decoded as they are read: webgpu rounds at most 16 rows"),
        ("N", "decoded as they are read: webgpu rounds at most 16 rows"),
    ):
        nodes = [node("MatMulNBits", ["x", "q", "s"], ["y"], domain="com.microsoft", **form)]
        written = model(nodes, [floats("x", count, 64)], [floats("y", count, 192)], weights)
        written.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        onnx.save(written, tmp_path / "rows.onnx")
        done = webkiln(
            "inspect", tmp_path / "rows.onnx", "--json", "--backend", "webgpu", "--products", "dot"
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["quantisation"]
        assert found["on webgpu"] == f"1 product of 4-bit codes, {how}"


def test_types_of_gguf_files(webkiln: Command) -> None:
    source = "tests.frontends.torch.quantized_nets:products"
    done = webkiln("inspect", source, "--weights", MATRICES, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["quantisation"] == {
        "storage": (
            "3 of 10 weight tensors quantised to 4 bits, blocks of 32; 3 in 5 bits, blocks of 32;"
            " 1 in 2 bits, blocks of 16; 1 in 3 bits, blocks of 16; 1 in 6 bits, blocks of 16;"
            " 1 in 8 bits, blocks of 32"
        ),
        "products": f"10 {FLOAT}",
        "on wasm": (f"3 products of 4-bit codes, {ROUNDED}; 7 products of 8-bit codes, {READ}"),
    }


def test_explain_shows_products_of_blocks(webkiln: Command) -> None:
    """They have as many operations as the float products that they replace. Without the option,
    those of 4 bits are computed.
    """
    source = "tests.frontends.torch.quantized_nets:products"
    shared = (source, "--weights", MATRICES, "--backend", "wasm")
    shown = {}
    for products in ("exact", "dot", "auto"):
        done = webkiln("build", *shared, "-o", f"public/{products}", "--products", products)
        assert done.returncode == 0, done.stderr
        shown[products] = rows(webkiln("explain", f"public/{products}").stdout, f"{products}, wasm")
    for layer in ("Q4_1.linear", "Q4_K.linear", "Q8_0.linear", "Q6_K.linear"):
        _, operations, _, how, passes = shown["dot"][layer]
        assert int(operations.replace(",", "")) == 2 * 3 * ROWS * COLUMNS
        assert operations == shown["exact"][layer][1]
        assert how.startswith("template block_product, ")
        assert shown["exact"][layer][3].startswith("template decoded_product, ")
        assert passes == "block_products"
        assert shown["auto"][layer] == shown["dot" if "Q4" in layer else "exact"][layer]
