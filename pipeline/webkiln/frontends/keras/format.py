"""The format record: files of Keras 1 to 3, architectures with weights, TensorFlow.js layers
models, and functions that return a Keras model.
"""

from webkiln.frontends.core.model_format import FileHeader, ModelFormat
from webkiln.frontends.core.tfjs_manifest import shard_files

HDF5 = b"\x89HDF\r\n\x1a\n"


def _fits(header: FileHeader) -> bool:
    return (
        header.start.startswith(HDF5)
        or "config.json" in header.members
        or (not header.is_folder and header.tensorflow_js == "layers-model")
    )


KERAS = ModelFormat(
    name="keras",
    title="a Keras model",
    suffixes=(".keras", ".h5", ".hdf5", ".json"),
    fits=_fits,
    companion_files=shard_files,
    parameters={
        "fetch": ("modules",),
        "load": ("plugins", "modules", "trust", "weights", "cut"),
        "convert": ("plugins", "modules", "batch_size", "dims", "input_shapes"),
        "reference": (
            "plugins",
            "modules",
            "trust",
            "weights",
            "cut",
            "batch_size",
            "dims",
            "input_shapes",
            "samples",
        ),
    },
    extra_files=("texts.json",),
    may_have_open_sizes=True,
)
