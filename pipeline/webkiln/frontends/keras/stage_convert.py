"""spec.json of a Keras model -> graph, and texts.json: how strings become indices."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from webkiln.frontends.core.conversion import SOURCE, Conversion
from webkiln.frontends.keras import spec
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.plugins import isolated
from webkiln.ops.plugins import defined_by
from webkiln.plugins import import_files


@contextmanager
def converted(
    data: Mapping[str, Any], inputs: Mapping[str, Path], params: Mapping[str, Any]
) -> Iterator[Conversion]:
    converter = KerasConverter(
        params["batch_size"], params["input_shapes"], dims=params.get("dims")
    )
    with isolated(inputs.get("modules/")), defined_by(inputs.get("operators/")):
        if data["handled"]:
            import_files(inputs["plugins/"] / name for name in params["plugins"])
            if "module" in params:
                import_module(params["module"])
        graph = converter.convert(spec.from_json(data), name=SOURCE)
        yield Conversion(graph, converter.digests, {"texts.json": {"texts": converter.texts}})
