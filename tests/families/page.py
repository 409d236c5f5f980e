"""Generate docs/families.md: a table of networks per family, whose rows are updated one by one."""

from collections.abc import Sequence

from tests.backends.harness import ROOT
from tests.docs.wrapping import wrap

PAGE = ROOT / "docs" / "families.md"
HEAD = """# Families of models

Networks with random weights, compared with their framework. The weights are scaled so that the
outputs depend on the inputs. `make families` runs every network in Chromium or Node and updates its
row. An error is the largest difference from the framework's output, relative to the output's
largest value, over two natural inputs and one with extreme values.
"""
FAMILIES = {
    "keras.applications": (
        (
            "Every network of `keras.applications`, at the smallest image size that it accepts."
            " Networks that rescale bytes in their first layer get inputs of 0..255. `python -m"
            " tests.families.applications ResNet50` runs one. The bound is 1e-4."
        ),
        ("network", "size", "parameters", "wasm (relaxed)", "wasm (simd)", "js"),
    ),
    "TensorFlow": (
        (
            "SavedModels and, where marked, frozen graphs. Keras saved its own networks; the others"
            " are written in TensorFlow's operators, at their published sizes. `python -m"
            " tests.families.tensorflow_networks BERT-mini` runs one. The bound is 1e-4."
        ),
        ("network", "sizes", "parameters", "wasm (relaxed)", "wasm (simd)", "js"),
    ),
    "KerasHub": (
        (
            "Small models of [KerasHub](https://keras.io/keras_hub/),"
            " built from configs with random"
            " weights. `python -m tests.families.hub BERT` runs one. The bound is 2e-4."
        ),
        ("model", "inputs", "parameters", "wasm", "js"),
    ),
    "PyTorch": (
        (
            "Networks with the widths of well-known ones and seeded weights, exported with dynamic"
            " sizes where torch supports them (it does not before recurrent layers). The table has"
            " the sizes of the comparison: batch and length for BERT,"
            " pixels for images and volumes,"
            " frames or samples for sound. `python -m tests.families.torch_networks YOLO` runs one."
            " The bound is 1e-4."
        ),
        ("network", "size", "parameters", "wasm (relaxed)", "wasm (simd)", "js"),
    ),
    "torchvision": (
        (
            "Networks of `torchvision.models` with seeded weights, at a small image size, exported"
            " with a dynamic batch. Detectors end before their postprocessing. `python -m"
            " tests.families.torchvision_models resnet50` runs one. The bound is 1e-4. RAFT is"
            " omitted: its export unrolls the iterations, and each one has lookups at computed"
            " positions."
        ),
        ("network", "size", "parameters", "wasm (relaxed)", "wasm (simd)", "js"),
    ),
}
EXPLAINED = {
    "PyTorch": (
        "YOLO decodes its boxes and applies non-maximum suppression (`torchvision.ops.nms`). The"
        " number of boxes is data-dependent, so the module's outputs are recorded. The translation"
        " is TorchScript; its loop ends at the end token. For Whisper's decoder, the sixth step is"
        " compared; keys and values of earlier steps are states."
    ),
    "KerasHub": (
        "For GPT-2 with its cache, the error is that of one step. 64 tokens, generated greedily"
        " with the cache as states of the bundle, equal those of Keras's `generate`"
        " on both backends"
        " ([text-generation.md](text-generation.md))."
    ),
}


def record(family: str, cells: Sequence[str]) -> None:
    """Add or replace a row in the table of a family; the first cell is its key."""
    rows = _rows()
    rows[family][cells[0]] = tuple(cells)
    sections = []
    for name, (text, columns) in FAMILIES.items():
        table = [
            columns,
            ("---",) * len(columns),
            *(rows[name][key] for key in sorted(rows[name], key=str.lower)),
        ]
        lines = [
            "| " + " | ".join(row) + " |" if row[0] != "---" else "|" + "|".join(row) + "|"
            for row in table
        ]
        after = [EXPLAINED[name], ""] if name in EXPLAINED else []
        sections.append("\n".join([f"## {name}", "", text, "", *lines, "", *after]))
    PAGE.write_text(wrap(HEAD + "\n" + "\n".join(sections)))


def _rows() -> dict[str, dict[str, tuple[str, ...]]]:
    rows_by_family: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in FAMILIES}
    family = ""
    for line in PAGE.read_text().splitlines() if PAGE.exists() else ():
        if line.startswith("## "):
            family = line[3:]
        elif line.startswith("| "):
            cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
            if cells[0] != FAMILIES[family][1][0]:
                rows_by_family[family][cells[0]] = cells
    return rows_by_family
