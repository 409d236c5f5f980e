"""A constant sample of the fuzzing of files (`make fuzz-files`). The runner detects failures."""

import time

import pytest

from tests.fuzz import (
    caffe_files,
    chainer_files,
    files,
    keras_files,
    onnx_files,
    tensorflow_files,
    tflite_files,
    torch_files,
    weight_files,
)
from webkiln.errors import InternalError, SourceError


@pytest.mark.parametrize(
    "form",
    [
        onnx_files,
        keras_files,
        tensorflow_files,
        tflite_files,
        caffe_files,
        chainer_files,
        weight_files,
    ],
)
def test_mutated_files(form):
    form.originals()
    results = list(files.outcomes(form.FORMAT, range(25 if form is tflite_files else 10)))
    assert not [item for item in results if item.is_finding]
    assert {item.kind for item in results} == {"accepted", "refused"}


def test_mutated_programs_of_pytorch():
    torch_files.originals()
    results = list(files.outcomes(torch_files.FORMAT, range(10)))
    assert not [item for item in results if item.is_finding]
    assert {item.kind for item in results} == {"accepted", "refused"}


def test_every_original_is_accepted(tmp_path):
    for make in onnx_files.OWN:
        (tmp_path / "net.onnx").write_bytes(make().SerializeToString())
        (tmp_path / "data.bin").write_bytes(bytes(4096))
        onnx_files.attempt(tmp_path, lambda phase: None)
        assert onnx_files.judge(tmp_path) is None


def failing(error):
    def attempt(folder, phase):
        phase("converting")
        raise error

    return attempt


def spinning(phase):
    def attempt(folder, say):
        say(phase)
        while True:
            time.process_time()

    return attempt


@pytest.mark.parametrize(
    ("attempt", "wrong", "kind"),
    [
        (failing(SourceError("no")), None, "refused"),
        (failing(KeyError("x")), None, "traceback"),
        (failing(InternalError("x")), None, "internal"),
        (lambda folder, phase: bytearray(8 << 30), None, "memory"),
        (spinning("converting"), None, "hang"),
        (spinning("checking"), None, "refused"),
        (lambda folder, phase: None, "the checker says no", "judged"),
        (lambda folder, phase: None, None, "accepted"),
    ],
)
def test_outcomes(attempt, wrong, kind, monkeypatch):
    monkeypatch.setattr(files, "CPU_S", 1)

    def convert(folder, phase):
        phase("converting")
        attempt(folder, phase)

    form = files.Format(
        lambda seed, folder: "nothing",
        convert if kind != "refused" else attempt,
        lambda folder: wrong,
    )
    assert files.outcome(form, 0).kind == kind
