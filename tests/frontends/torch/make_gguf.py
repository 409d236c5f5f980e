"""Write GGUF files: `types.gguf` has a tensor of each supported type, `matrices.gguf` a matrix of
each quantized type. `python -m tests.frontends.torch.make_gguf` runs the package `gguf`, which
also computes the expected values.
"""

from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, quants
from gguf.constants import GGML_QUANT_SIZES

FILE = Path(__file__).parent / "corpus" / "types.gguf"
ROWS = 3
PLAIN = {
    "F32": np.float32,
    "F16": np.float16,
    "F64": np.float64,
    "I8": np.int8,
    "I16": np.int16,
    "I32": np.int32,
    "I64": np.int64,
}
BLOCKS = ("BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K")


MATRICES = Path(__file__).parent / "corpus" / "matrices.gguf"
SHAPE = (32, 512)
HALVES = {"Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}
"""The float16 of the types that the package only reads, by their offsets in a block."""


def main() -> None:
    write_types()
    write_matrices()


def write_matrices() -> None:
    rng = np.random.default_rng(8)
    writer = GGUFWriter(MATRICES, "test")
    for name in BLOCKS[1:]:
        kind = GGMLQuantizationType[name]
        if name in HALVES:
            count, size = GGML_QUANT_SIZES[kind]
            blocks = rng.integers(0, 256, (SHAPE[0], SHAPE[1] // count, size)).astype(np.uint8)
            for start in HALVES[name]:
                halves = rng.uniform(0.001, 0.01, blocks.shape[:2]).astype(np.float16)
                blocks[..., start : start + 2] = halves[..., None].view(np.uint8)
            data = blocks.reshape(SHAPE[0], -1)
        else:
            data = quants.quantize(rng.standard_normal(SHAPE).astype(np.float32), kind)
        writer.add_tensor(f"{name}.weight", data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_types() -> None:
    rng = np.random.default_rng(7)
    FILE.parent.mkdir(exist_ok=True)
    writer = GGUFWriter(FILE, "test")
    writer.add_array("tokens", ["a", "bc", ""])
    writer.add_array("numbers", [1, 2, 3])
    for name, dtype in PLAIN.items():
        writer.add_tensor(name, (rng.standard_normal((2, 3, 4)) * 40).astype(dtype))
    for name in BLOCKS:
        kind = GGMLQuantizationType[name]
        count, size = GGML_QUANT_SIZES[kind]
        width = max(2 * count, 8)
        data = rng.integers(0, 256, (ROWS, width // count * size)).astype(np.uint8)
        while not np.isfinite(quants.dequantize(data, kind)).all():
            data = rng.integers(0, 256, data.shape).astype(np.uint8)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    reader = GGUFReader(FILE)
    tensors = {
        item.name: item.data
        if item.name in PLAIN
        else quants.dequantize(item.data, item.tensor_type).reshape(
            tuple(item.shape.tolist()[::-1])
        )
        for item in reader.tensors
    }
    np.savez_compressed(FILE.with_suffix(".npz"), **tensors)


if __name__ == "__main__":
    main()
