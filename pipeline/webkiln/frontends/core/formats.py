"""Model formats that webkiln reads, and how a file's format is recognised."""

from pathlib import Path

from webkiln.errors import SourceError
from webkiln.frontends.caffe.format import CAFFE
from webkiln.frontends.chainer.format import CHAINER
from webkiln.frontends.core.model_format import FileHeader, ModelFormat
from webkiln.frontends.core.unsupported_formats import UNSUPPORTED_FORMATS, UnsupportedFormat
from webkiln.frontends.keras.format import KERAS
from webkiln.frontends.onnx.format import ONNX
from webkiln.frontends.tensorflow.format import TENSORFLOW
from webkiln.frontends.tflite.format import TFLITE
from webkiln.frontends.torch.format import TORCH

FORMATS = (KERAS, ONNX, TORCH, TENSORFLOW, TFLITE, CAFFE, CHAINER)
RECOGNISED: tuple[ModelFormat | UnsupportedFormat, ...] = (*FORMATS, *UNSUPPORTED_FORMATS)
BY_NAME = {format_.name: format_ for format_ in FORMATS}


def recognise_format(path: Path) -> ModelFormat | UnsupportedFormat | None:
    """Recognise the format of a file or folder by its content; None if no format matches."""
    header = FileHeader(path)
    return next((row for row in RECOGNISED if row.fits(header)), None)


def format_of_file(path: Path) -> ModelFormat:
    """The format of a model file: by content, else by name.

    Raise SourceError, with a conversion hint, if webkiln does not read the format.
    """
    detected = recognise_format(path)
    if isinstance(detected, UnsupportedFormat):
        raise SourceError(detected.refusal(path.name))
    if detected is None and path.is_dir():
        raise SourceError(f"{path.name}: is a folder; pass the model file in it")
    return detected or format_of_name(path.name)


def check_format(path: Path, name: str) -> None:
    """Raise SourceError if the content of a downloaded file contradicts the format of the build."""
    expected, detected = BY_NAME[name], recognise_format(path)
    if isinstance(detected, UnsupportedFormat):
        raise SourceError(detected.refusal(path.name))
    if detected is not None and detected is not expected:
        raise SourceError(
            f"{path.name}: is {detected.title}, not {expected.title}; set"
            f' source_format = "{detected.name}" in the recipe'
        )


def format_of_name(name: str) -> ModelFormat:
    """The format that a file name suggests, for files whose content is not available yet."""
    return next((row for row in FORMATS if name.endswith(row.suffixes)), KERAS)
