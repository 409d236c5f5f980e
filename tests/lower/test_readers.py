"""A value with several readers is stored and computed once. Fusion eliminates only values that
nothing else reads.
"""

import pytest

from tests.programs import lower
from webkiln.ops.table import parse

HEADS = {
    "a product": [
        "input x: float32[6,4]",
        "slot w: float32[4,8]",
        "c: float32[6,8] = MatMul(x, w)",
    ],
    "a sum": [
        "input x: float32[6,8,3]",
        'c: float32[6,8] = ReduceSum(x) {"axes":[2],"keepdims":false}',
    ],
    "a map": ["input x: float32[6,8]", "c: float32[6,8] = Tanh(x)"],
}
READERS = {
    "none": [],
    "node": ['t: float32[8,6] = Transpose(c) {"perm":[1,0]}', "output also = t"],
    "output": ["output also = c"],
    "state": ["slot first: float32[6,8]", "state s first c -> held: float32[6,8]"],
    "caller": [],
}
CONSUMERS = {
    "a map": ["y: float32[6,8] = Relu(c)"],
    "another dtype": [
        'h: float16[6,8] = Cast(c) {"dtype":"float16"}',
        'y: float32[6,8] = Cast(h) {"dtype":"float32"}',
    ],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("head", HEADS)
def test_a_value_with_another_reader_is_stored_once(head: str, reader: str) -> None:
    lines = ["graph g", *HEADS[head], *CONSUMERS["a map"], *READERS[reader], "output out = y", ""]
    calls = lower(parse("\n".join(lines)), ["c"] if reader == "caller" else []).calls
    writers = [call for call in calls if any(view.name == "c" for view in call.outputs)]
    assert len(writers) == (0 if reader == "none" else 1)
    assert sum(bool(call.nest.accumulators) for call in calls) == (head != "a map")
    if reader == "none":
        assert len(calls) == 1
    written = [view.name for call in calls for view in call.outputs]
    assert len(written) == len({*written})


@pytest.mark.parametrize("head", HEADS)
def test_a_rounded_value_is_stored(head: str) -> None:
    """A narrower store loses precision that the expression has."""
    lines = ["graph g", *HEADS[head], *CONSUMERS["another dtype"], "output out = y", ""]
    calls = lower(parse("\n".join(lines))).calls
    assert "h" in {view.name for call in calls for view in call.outputs}
