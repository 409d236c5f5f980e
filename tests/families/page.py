"""Writes docs/families.md: a table of networks for each family, whose rows programs replace one by
one.
"""

from collections.abc import Sequence

from tests.backends.harness import ROOT

PAGE = ROOT / "docs" / "families.md"
HEAD = """# Families of models

Whole networks, converted and compared with their framework on made-up weights under which the outputs depend on the inputs. The page is written by `make families`, which runs each of them in Chromium or in Node
and replaces its row. An error is the largest difference of an output from the framework's, relative to the largest value of that output, over two natural inputs and an extreme one.
"""
FAMILIES = {
    "keras.applications": (
        (
            "Every network of `keras.applications`, at the smallest image that it takes; what is"
            " made for bytes (by a first layer that rescales them) gets 0..255. `python -m"
            " tests.families.applications ResNet50` runs one. The bound is 1e-4."
        ),
        ("network", "size", "parameters", "wasm (relaxed)", "wasm (simd)", "js"),
    ),
    "TensorFlow": (
        (
            "Networks of TensorFlow as SavedModels and, where it says so, as frozen graphs: those"
            " of Keras by its own ways of saving, others written in raw operators at the sizes that"
            " are published. `python -m tests.families.tensorflow_networks BERT-mini` runs one. The"
            " bound is 1e-4."
        ),
        ("network", "sizes", "parameters", "wasm (relaxed)", "wasm (simd)", "js"),
    ),
    "KerasHub": (
        (
            "Small models of [KerasHub](https://keras.io/keras_hub/), built from their config with"
            " random weights; `python -m tests.families.hub BERT` runs one. The bound is 2e-4."
        ),
        ("model", "inputs", "parameters", "wasm", "js"),
    ),
    "PyTorch": (
        (
            "Networks as their users write them, of the width of well-known ones, with seeded"
            " weights, exported with open sizes where torch leaves them open (it does not before"
            " recurrent layers); the table says at which they were compared. `python -m"
            " tests.families.torch_networks YOLO` runs one. The bound is 1e-4. BERT's sizes are"
            " batch and length, of images and volumes their pixels, of sound frames or samples."
        ),
        ("network", "size", "parameters", "wasm (relaxed)", "wasm (simd)", "js"),
    ),
    "torchvision": (
        (
            "Networks of `torchvision.models` with seeded weights, at a small image, exported with"
            " an open batch; of detectors the network in front of their postprocessing. `python -m"
            " tests.families.torchvision_models resnet50` runs one. The bound is 1e-4. RAFT is left"
            " out: its correlation looks up places that are data in each of its steps, which are"
            " written out."
        ),
        ("network", "size", "parameters", "wasm (relaxed)", "wasm (simd)", "js"),
    ),
}
EXPLAINED = {
    "PyTorch": (
        "YOLO decodes its boxes and suppresses overlapping ones (`torchvision.ops.nms`), so that"
        " the number of its results is data; what the module computes is recorded for it. The"
        " translation is TorchScript, whose loop ends where the end is written. Of Whisper's"
        " decoder the step is the sixth; keys and values of those before are states."
    ),
    "KerasHub": (
        "Of GPT-2 with its cache, a step is compared: 64 tokens that are generated greedily, one by"
        " one, with the cache as states of the bundle, equal those of Keras's `generate` on both"
        " backends ([text-generation.md](text-generation.md))."
    ),
}


def record(family: str, cells: Sequence[str]) -> None:
    """Put a row, told by its first cell, into the table of a family."""
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
    PAGE.write_text(HEAD + "\n" + "\n".join(sections))


def _rows() -> dict[str, dict[str, tuple[str, ...]]]:
    found: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in FAMILIES}
    family = ""
    for line in PAGE.read_text().splitlines() if PAGE.exists() else ():
        if line.startswith("## "):
            family = line[3:]
        elif line.startswith("| "):
            cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
            if cells[0] != FAMILIES[family][1][0]:
                found[family][cells[0]] = cells
    return found
