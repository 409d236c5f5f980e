"""The formats of models that webkiln reads, and which one a file has."""

from pathlib import Path

from webkiln.errors import SourceError
from webkiln.frontends.caffe.format import CAFFE
from webkiln.frontends.chainer.format import CHAINER
from webkiln.frontends.core.model_format import Glimpse, ModelFormat
from webkiln.frontends.core.unsupported_formats import FOREIGN, ForeignFormat
from webkiln.frontends.keras.format import KERAS
from webkiln.frontends.onnx.format import ONNX
from webkiln.frontends.tensorflow.format import TENSORFLOW
from webkiln.frontends.tflite.format import TFLITE
from webkiln.frontends.torch.format import TORCH

FORMATS = (KERAS, ONNX, TORCH, TENSORFLOW, TFLITE, CAFFE, CHAINER)
KNOWN: tuple[ModelFormat | ForeignFormat, ...] = (*FORMATS, *FOREIGN)
BY_NAME = {format_.name: format_ for format_ in FORMATS}


def recognise(path: Path) -> ModelFormat | ForeignFormat | None:
    """The format of a file or folder, by its bytes; None where that is not known."""
    glimpse = Glimpse(path)
    return next((row for row in KNOWN if row.fits(glimpse)), None)


def format_of_file(path: Path) -> ModelFormat:
    """The format of a model file, by its name where its bytes say nothing; SourceError with the way
    to go for one that webkiln does not read.
    """
    found = recognise(path)
    if isinstance(found, ForeignFormat):
        raise SourceError(found.refusal(path.name))
    if found is None and path.is_dir():
        raise SourceError(f"{path.name}: is a folder; give the model file in it")
    return found or format_of_name(path.name)


def check_format(path: Path, name: str) -> None:
    """SourceError where a file, which came from elsewhere, is of another format than the build was
    made for.
    """
    wanted, found = BY_NAME[name], recognise(path)
    if isinstance(found, ForeignFormat):
        raise SourceError(found.refusal(path.name))
    if found is not None and found is not wanted:
        raise SourceError(
            f"{path.name}: is {found.title}, not {wanted.title}; say so in the recipe:"
            f' source_format = "{found.name}"'
        )


def format_of_name(name: str) -> ModelFormat:
    """What a file that cannot be looked at is taken for."""
    return next((row for row in FORMATS if name.endswith(row.suffixes)), KERAS)
