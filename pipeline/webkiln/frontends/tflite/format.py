"""The format record of LiteRT (TensorFlow Lite) files."""

from webkiln.frontends.core.model_format import ModelFormat

TFLITE = ModelFormat(
    name="tflite",
    title="a LiteRT (TensorFlow Lite) model",
    suffixes=(".tflite",),
    fits=lambda header: header.start[4:8] == b"TFL3",
    parameters={
        "load": ("signature", "cut"),
        "convert": ("plugins", "cut", "dims", "input_shapes", "values"),
        "reference": ("signature", "cut", "dims", "input_shapes", "values", "samples"),
    },
    extra_files=("labels.json",),
    may_have_open_sizes=True,
)
