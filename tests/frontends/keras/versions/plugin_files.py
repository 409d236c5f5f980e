"""Files of older versions with classes of a plugin."""

import base64
import marshal

from tests.frontends.keras.versions.bytecode import ONE, config
from tests.frontends.keras.versions.model_files import every_layer, read, write_h5
from webkiln.backends.compare import relative_error
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model
from webkiln.frontends.keras.plugins import isolated
from webkiln.ops.evaluate import run_graph

VERSION = "2.4.0"


def subclass(base, own="", **extra):
    """A plugin with a subclass of a layer, which is called Mine followed by its name."""
    return (
        "import keras\n\n\n@keras.saving.register_keras_serializable()\n"
        f"class Mine{base}(keras.layers.{base}):\n    {own or 'pass'}\n"
    )


def changed(name, base, path, version=VERSION):
    """Write a model whose layers of a class are the plugin's, with initialisers, regularisers and
    constraints that no plugin defines. Returns the model.
    """
    model = read(name)
    for layer in every_layer(model.config):
        if layer["class_name"] == base:
            layer["class_name"] = f"Mine{base}"
        for key in [*layer["config"]]:
            if key.endswith(("_initializer", "_regularizer", "_constraint")):
                mine = {"class_name": "OnlyForTraining", "config": {"scale": 2}}
                layer["config"][key] = mine if base != "BatchNormalization" else "only_for_training"
    write_h5(path, model.config, model.lists, version)
    return model


def check(path, model, plugin, tmp_path):
    (tmp_path / "plugin.py").write_text(plugin)
    with isolated():
        spec, blobs = load_model(path, [tmp_path / "plugin.py"])
        graph = KerasConverter(batch_size=len(model.inputs[0])).convert(spec, blobs)
    results = run_graph(graph, dict(zip(graph.inputs, model.inputs, strict=True)))[0].values()
    for got, expected in zip(results, model.outputs, strict=True):
        assert relative_error(got, expected) < 1e-5


def written(function, **arguments):
    """The config that tf.keras writes for a function of this Python."""
    base = config("3.7", ONE)
    base["function"] = [
        base64.encodebytes(marshal.dumps(function.__code__)).decode(),
        list(function.__defaults__) if function.__defaults__ else None,
        [cell.cell_contents for cell in function.__closure__] if function.__closure__ else None,
    ]
    return {**base, "arguments": arguments}
