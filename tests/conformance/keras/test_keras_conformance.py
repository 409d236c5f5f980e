"""Calls in some of the tests of Keras, on every backend; `make conformance-keras` runs all."""

import pytest

from tests.conformance.keras.judge import Converted, convert, judge
from tests.conformance.keras.recorded import SAMPLE, read, run_tests


@pytest.mark.long
@pytest.mark.timeout(600)
def test_calls_in_some_tests_of_keras(tmp_path):
    run_tests(SAMPLE, tmp_path / "calls")
    calls, _ = read(tmp_path / "calls")
    results = [convert(call) for call in calls]
    converted = [result for result in results if isinstance(result, Converted)]
    assert [
        (item.call.test, item.reason)
        for item in results
        if not isinstance(item, Converted) and item.kind == "broken"
    ] == []
    assert [
        (item.call.test, item.reason)
        for item in results
        if not isinstance(item, Converted) and item.kind == "refused"
    ] == []
    assert len(converted) > 150
    for backend, first, every in (("js", 0, 6), ("wasm", 1, 16)):
        case = converted[first::every]
        verdicts = judge(case, backend, tmp_path / backend)
        assert [
            (item.call.test, wrong)
            for item, wrong in zip(case, verdicts, strict=True)
            if wrong is not None
        ] == []
