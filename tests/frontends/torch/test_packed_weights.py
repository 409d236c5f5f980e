"""Weights in the layouts of GPTQ, AWQ and bitsandbytes: they stay codes and scales, and products
with them are those of the tools that wrote the files (`make_gptq.py`, `make_bitsandbytes.py`).
"""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.frontends.torch.packed_nets import FOLDER, LAYERS, x
from tests.frontends.torch.quantized_graphs import MOST, converted, sizes
from tests.passes.running import optimised, run
from webkiln.build.action import Local
from webkiln.build.format_parameters import PARAMETERS
from webkiln.errors import SourceError
from webkiln.frontends.torch.factory import factory_program
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.source import read_exported
from webkiln.frontends.torch.stage_fetch import fetch
from webkiln.frontends.torch.weights import read_safetensors, read_state
from webkiln.ops.evaluate import run_graph
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import ModuleSource

V2 = {"quant_method": "gptq", "checkpoint_format": "gptq_v2"}
CONFIGS = {
    "gptq": None,
    "gptq_v2": V2,
    "awq": {"quantization_config": {"quant_method": "awq", "version": "gemm"}},
    "bitsandbytes": None,
}


def written(folder: Path, config: object) -> Path | None:
    if config is None:
        return None
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return path


def program(file: str, folder: Path) -> torch.export.ExportedProgram:
    source = {
        "module": "tests.frontends.torch.packed_nets",
        "function": "products",
        "parameters": {"file": file},
    }
    config = written(folder, CONFIGS[file])
    with quiet():
        made = factory_program(source, {}, FOLDER / f"{file}.safetensors", config)
        torch.export.save(made, folder / "made.pt2")
        return read_exported(folder / "made.pt2")


@pytest.mark.parametrize("file", LAYERS)
def test_products_are_those_of_the_tools(file: str, tmp_path: Path) -> None:
    graph = optimised(converted(program(file, tmp_path)))
    (name,) = graph.inputs
    outputs, _ = run_graph(graph, {name: x()[:3].numpy()})
    with np.load(FOLDER / f"{file}.npz") as expected:
        for layer, result in zip(LAYERS[file], outputs.values(), strict=True):
            product = expected[layer][:3]
            np.testing.assert_allclose(
                result, product, rtol=0, atol=2e-6 * np.abs(product).max(), err_msg=layer
            )


@pytest.mark.parametrize("file", LAYERS)
def test_bundles_have_the_bytes_of_the_file(file: str, tmp_path: Path) -> None:
    graph = optimised(converted(program(file, tmp_path)))
    _, tensors = read_safetensors(FOLDER / f"{file}.safetensors")
    in_file = sum(item.numel() * item.element_size() for item in tensors.values())
    assert sum(sizes(graph).values()) <= MOST * in_file


@pytest.mark.parametrize(
    ("file", "products"), [("gptq", 7), ("gptq_v2", 7), ("awq", 3), ("bitsandbytes", 1)]
)
def test_products_of_blocks_are_found(file: str, products: int, tmp_path: Path) -> None:
    """All but those of tables, of inputs that g_idx orders, and whose last group is shorter."""
    graph = optimised(converted(program(file, tmp_path)))
    graph = run("block_products", graph, "lower")
    assert Counter(node.op for node in graph.nodes)["MatMulBlocks"] == products


def test_modules_of_bitsandbytes_keep_their_codes(tmp_path: Path) -> None:
    source = {
        "module": "tests.frontends.torch.packed_nets",
        "function": "loaded",
        "parameters": {"file": "bitsandbytes"},
    }
    with quiet():
        made = factory_program(source, {})
    graph = optimised(converted(made))
    path = FOLDER / "bitsandbytes.safetensors"
    assert sum(sizes(graph).values()) <= MOST * path.stat().st_size
    (name,) = graph.inputs
    outputs, _ = run_graph(graph, {name: x()[:3].numpy()})
    with np.load(path.with_suffix(".npz")) as expected:
        for layer, result in zip(LAYERS["bitsandbytes"], outputs.values(), strict=True):
            product = expected[layer][:3]
            np.testing.assert_allclose(
                result, product, rtol=0, atol=2e-6 * np.abs(product).max(), err_msg=layer
            )


@pytest.mark.parametrize("name", ["quantize_config.json", "config.json"])
def test_a_build_reads_the_config_next_to_the_file(name: str, tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    shutil.copy(FOLDER / "gptq_v2.safetensors", file)
    source = ModuleSource(
        tmp_path, "tests.frontends.torch.packed_nets", "products", {"file": "gptq_v2"}, file
    )
    recipe = Recipe("net", source)
    assert not PARAMETERS["weights_config"](recipe).inputs
    (tmp_path / name).write_text(json.dumps({"quantization_config": V2}))
    rows = ("modules", "module_weights", "weights_config", "input_shapes")
    arguments = [PARAMETERS[row](recipe) for row in rows]
    inputs = {
        key: item.path
        for part in arguments
        for key, item in part.inputs.items()
        if isinstance(item, Local)
    }
    assert inputs == {"weights": file, "weights.json": tmp_path / name}
    params = {key: item for part in arguments for key, item in part.params.items()}
    fetch(inputs, params, tmp_path / "made.pt2")
    outputs = read_exported(tmp_path / "made.pt2").module()(x()[:3])
    with np.load(FOLDER / "gptq_v2.npz") as expected:
        for layer, result in zip(LAYERS["gptq_v2"], outputs, strict=True):
            np.testing.assert_allclose(result.detach(), expected[layer][:3], rtol=0, atol=2e-5)


def test_codes_without_scales_are_refused(tmp_path: Path) -> None:
    """Integers are no weights."""
    name = "tests.frontends.torch.packed_nets"
    source = {"module": name, "function": "products", "parameters": {"file": "bitsandbytes"}}
    _, tensors = read_safetensors(FOLDER / "bitsandbytes.safetensors")
    torch.save(
        {k: v for k, v in tensors.items() if k not in ("int8.SCB", "int8.weight_format")},
        tmp_path / "w.pt",
    )
    with quiet(), pytest.raises(SourceError, match=r"int8.weight is torch.int8, .* its scales"):
        factory_program(source, {}, tmp_path / "w.pt")


def refused(tensors: dict[str, torch.Tensor], config: object, folder: Path) -> str:
    torch.save(tensors, folder / "w.pt")
    with pytest.raises(SourceError) as error:
        read_state(folder / "w.pt", config=written(folder, config))
    return str(error.value)


def layer(file: str, name: str) -> dict[str, torch.Tensor]:
    """The tensors of one layer of a file."""
    _, tensors = read_safetensors(FOLDER / f"{file}.safetensors")
    return {key: item for key, item in tensors.items() if key.startswith(f"{name}.")}


def test_all_that_is_not_understood_is_listed(tmp_path: Path) -> None:
    first, second = (layer("gptq", name) for name in ("bits4_sym_128", "bits8_sym_64"))
    marlin = {"m.qweight": torch.zeros(16, 64, dtype=torch.int32)}
    marlin |= {"m.qzeros": torch.zeros(2, 4, dtype=torch.int32), "m.scales": torch.ones(2, 32)}
    message = refused(
        {**first, **second, **marlin, "p.weight_packed": torch.zeros(2, 2)}, None, tmp_path
    )
    assert (
        "bits4_sym_128.weight, bits8_sym_64.weight: whether its zero points are stored less 1"
        in message
    )
    assert "put the quantize_config.json or config.json of the model next to the file" in message
    assert "m.weight: qweight [16, 64], qzeros [2, 4] and scales [2, 32] are neither" in message
    assert "p.weight: its layout is that of compressed-tensors" in message
    assert message.endswith("save the model in one of these layouts, or dequantised")


WORDS = "bits4_asym_32"


@pytest.mark.parametrize(
    ("changes", "config", "expected"),
    [
        ({}, {"quant_method": "gptq", "checkpoint_format": "marlin"}, "its layout is marlin"),
        ({}, {"quant_method": "gptq", "is_marlin_format": True}, "its layout is marlin"),
        ({}, {"format": "gptq_p"}, "its layout is gptq_p, expected gptq or gptq_v2"),
        ({"scales": None}, V2, "scales is missing"),
        ({"weight": torch.zeros(32, 256)}, V2, f"the file also has {WORDS}.weight"),
        ({"g_idx": torch.full((256,), 8).int()}, V2, "has groups 8 to 8, there are 8"),
        ({"g_idx": torch.zeros(256).int()}, V2, "its g_idx is 0 for all inputs, there are 8"),
        ({"g_idx": torch.zeros(4).int()}, V2, "g_idx is int32 [4], expected int32 [256]"),
        ({"qzeros": torch.full((8, 4), -1).int()}, {"desc_act": False}, "include 15"),
        ({"qweight": torch.zeros(32, 32)}, V2, "qweight is float32"),
    ],
)
def test_words_that_are_refused(changes, config, expected: str, tmp_path: Path) -> None:
    tensors: dict[str, torch.Tensor | None] = {
        **layer("gptq", WORDS),
        **{f"{WORDS}.{part}": item for part, item in changes.items()},
    }
    given = {name: item for name, item in tensors.items() if item is not None}
    assert expected in refused(given, config, tmp_path)


def test_awq_of_other_kernels_is_refused(tmp_path: Path) -> None:
    config = {"quant_method": "awq", "version": "gemv"}
    assert "its layout is gemv" in refused(layer("awq", "group32"), config, tmp_path)


def test_awq_of_an_odd_number_of_inputs_is_refused(tmp_path: Path) -> None:
    """A row of codes would end within a byte."""
    tensors = layer("awq", "group256")
    tensors["group256.qweight"] = tensors["group256.qweight"][:255]
    assert "qweight [255, 4]" in refused(tensors, None, tmp_path)


@pytest.mark.parametrize("config", [{"desc_act": False}, {"quant_method": "gptq"}])
def test_configs_before_checkpoint_format_are_gptq(config: object, tmp_path: Path) -> None:
    torch.save(layer("gptq", WORDS), tmp_path / "w.pt")
    state = read_state(tmp_path / "w.pt", config=written(tmp_path, config))
    with np.load(FOLDER / "gptq.npz") as expected:
        product = x().double() @ state[f"{WORDS}.weight"].double().T
        np.testing.assert_allclose(product, expected[WORDS], rtol=0, atol=1e-5)


def test_groups_without_g_idx(tmp_path: Path) -> None:
    """As in files of GPTQ without the order of activations."""
    tensors = layer("gptq", WORDS)
    torch.save({k: v for k, v in tensors.items() if "g_idx" not in k}, tmp_path / "w.pt")
    torch.save(tensors, tmp_path / "with.pt")
    config = written(tmp_path, {"bits": 4, "group_size": 32, "checkpoint_format": "gptq"})
    states = [read_state(tmp_path / name, config=config) for name in ("w.pt", "with.pt")]
    assert torch.equal(states[0][f"{WORDS}.weight"], states[1][f"{WORDS}.weight"])


STATE = "nf4_nested.weight.quant_state.bitsandbytes__nf4"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("shape", [32, 257], "4096 bytes are not the codes of [32, 257]"),
        ("shape", [1 << 50, 1], "its shape is"),
        ("shape", [-1, -8192], "its shape is"),
        ("blocksize", 0, "its blocksize is 0"),
        ("blocksize", (1 << 31) - 1, "its absmax is torch.uint8 [128], expected torch.uint8 [1]"),
        ("blocksize", 32, "its absmax is torch.uint8 [128], expected torch.uint8 [256]"),
        ("nested_blocksize", 32, "its nested_absmax is torch.float32 [1]"),
        ("nested_offset", None, "its nested_offset is no number"),
    ],
)
def test_states_of_bitsandbytes_are_checked(key, value, expected: str, tmp_path: Path) -> None:
    tensors = layer("bitsandbytes", "nf4_nested")
    settings = {**json.loads(tensors[STATE].numpy().tobytes()), key: value}
    text = json.dumps(settings).encode()
    tensors[STATE] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    message = refused(tensors, None, tmp_path)
    assert f"nf4_nested.weight: {expected}" in message


@pytest.mark.parametrize(
    ("part", "tensor", "expected"),
    [
        ("absmax", None, "its absmax is missing"),
        ("quant_map", torch.ones(15), "its quant_map is torch.float32 [15]"),
        ("quant_state.bitsandbytes__nf4", torch.zeros(3).byte(), "its quant_state is no JSON"),
    ],
)
def test_parts_of_bitsandbytes_are_checked(part, tensor, expected: str, tmp_path: Path) -> None:
    tensors = layer("bitsandbytes", "nf4_nested")
    tensors.pop(f"nf4_nested.weight.{part}")
    if tensor is not None:
        tensors[f"nf4_nested.weight.{part}"] = tensor
    assert expected in refused(tensors, None, tmp_path)


@pytest.mark.parametrize(
    ("part", "tensor", "expected"),
    [
        ("SCB", torch.ones(31), "int8 [32, 256], SCB [31]"),
        ("weight_format", torch.ones(1).byte(), "its weight_format is another than rows"),
    ],
)
def test_rows_of_bitsandbytes_are_checked(part, tensor, expected: str, tmp_path: Path) -> None:
    tensors = {**layer("bitsandbytes", "int8"), f"int8.{part}": tensor}
    assert expected in refused(tensors, None, tmp_path)
