"""Small files that need much time or memory: each is refused or built within 20 s of CPU time and 2
GB, which `files.outcome` enforces.
"""

import pytest

from tests.fuzz import files

SLOW = {
    "onnx": {
        "loop_of_a_number",
        "loop_of_nothing",
        "loop_without_end",
        "nested_loops",
        "nested_loops_of_data",
        "scan_of_a_constant",
        "many_results",
        "determinant",
        "ranged",
        "doubled_sizes",
        "doubled_weights",
        "deep_branches",
    },
    "tensorflow": {"endless"},
    "tflite": {"functions_of_functions"},
    "keras": {"models_of_models"},
    "torch": set(),
}
"""Files that take longer than a second; `pytest -m long` and `make fuzz-files` try them."""
ALL = [
    pytest.param(
        name, source, marks=[pytest.mark.long] if source in slow else [], id=f"{name}-{source}"
    )
    for name, slow in SLOW.items()
    for source in files.hostile(name)
]
ACCEPTED = {"onnx": {"suppressed", "deep_branches"}, "keras": {"repeated", "upsampled"}}
"""Files whose computation happens at run time."""
PROBED = {"ranged", "doubled_sizes", "doubled_weights"}
"""Files that exhaust the memory of the onnx package, in the process that checks files."""


MESSAGES = {
    "loop_of_a_slot": "loop (Loop): evaluating the constants of this model takes more than",
    "large": "constantofshape (Broadcast): evaluating the constants of this model takes more than",
    "many_expanded": "(Broadcast): evaluating the constants of this model takes more than",
    "nested_loops_of_data": (
        "mul (Mul): the model has more than 32,812 nodes once its loops are unrolled"
    ),
    "functions_of_functions": "nodes after inlining its functions",
    "many_repeated": "the model's weights exceed",
    "Expanded": "net: w: the model's weights exceed",
}
"""The text that an error contains if it reports a limit."""


@pytest.mark.parametrize(("name", "source"), ALL)
def test_small_files_need_little_memory(name, source):
    outcome = files.outcome(files.hostile(name)[source], 0)
    assert outcome.kind == ("accepted" if source in ACCEPTED.get(name, ()) else "refused"), outcome
    assert source in PROBED or "Traceback" not in outcome.text
    assert MESSAGES.get(source, "") in outcome.text
