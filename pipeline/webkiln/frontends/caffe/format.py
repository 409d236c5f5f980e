"""The format record: definitions with weights, and weight files that contain a definition."""

from webkiln.frontends.caffe.companions import companion_of
from webkiln.frontends.caffe.signatures import is_binary, is_text
from webkiln.frontends.core.model_format import ModelFormat

CAFFE = ModelFormat(
    name="caffe",
    title="a Caffe model",
    suffixes=(".caffemodel", ".prototxt"),
    fits=lambda seen: is_text(seen.start) or is_binary(seen.start),
    companion_files=companion_of,
    parameters={
        "load": ("weights", "cut", "input_shapes"),
        "convert": ("plugins", "dims", "input_shapes", "values"),
        "reference": ("weights", "cut", "dims", "input_shapes", "values", "samples"),
    },
    may_have_open_sizes=True,
)
