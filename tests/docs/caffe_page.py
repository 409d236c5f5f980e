"""Generate docs/from-caffe.md from the table of layers and the nets of the tests.

Usage: python -m tests.docs.caffe_page
"""

import re
from collections.abc import Mapping
from pathlib import Path

from tests.docs.wrapping import wrap
from tests.frontends.caffe.large import LARGE
from tests.frontends.caffe.nets import NETS
from webkiln.frontends.caffe.net import DATA, ENDS, LOSSES, parameter_of
from webkiln.frontends.caffe.operators.table import LAYERS
from webkiln.frontends.caffe.reference import SAME
from webkiln.frontends.caffe.schema import PARAMETERS, messages

PAGE = Path(__file__).resolve().parents[2] / "docs" / "from-caffe.md"
TYPE = re.compile(r'type: "(\w+)"')
UNSUPPORTED: Mapping[str, str] = {
    "`Filter`": (
        "its output's size depends on data; stop before it with `--to-layer`, and filter in the"
        " page"
    ),
    "`Python`": "it runs Python; a plugin's handler can convert the class that it names",
    "`MultiBoxLoss`": "it trains SSD; use the deploy definition",
    "`ROIPooling`, `PSROIPooling`, `Proposal`, `Reorg`, `Region`, `Correlation`": (
        "forks compute them differently; a plugin's handler can convert them"
    ),
    "`LSTMUnit`": "it is part of Caffe's `LSTM`, which is converted as a unit",
}
HEAD = """# From Caffe

    webkiln build deploy.prototxt -o public/model

reads the weights from `deploy.caffemodel`, or from the only `.caffemodel` next to the definition.
Options select another file and other shapes:

    webkiln build deploy.prototxt --weights net.caffemodel --input-shape data=N,3,224,224

In the page:

    import { load } from './model/index.js';
    const model = await load();
    const { prob } = await model.run({ data });

In a recipe, `source = "deploy.prototxt"`, or
`source = { path = "deploy.prototxt", weights = "net.caffemodel" }`. A `.caffemodel` is a source by
itself if its definition is next to it, or if it contains a complete definition with inputs. Caffe
is not needed, only `pip install protobuf` (`webkiln[caffe]`, which also has OpenCV, the reference).

## Conversion

* **Versions.** Layers of the first, second and current format (`layers { layer {} }`, `layers`,
  `layer`), padding layers of the first format, `input` with `input_dim` or `input_shape`, and data
  layers with crops from before `transform_param`. Weights with four sizes or with `shape`, as float
  or double.
* **Phase TEST.** Rules (`include`, `exclude`) are applied for phase TEST with the level and stages
  of the net's `state`. Layers may work in place. Layers can share weights by name (`param`).
* **Inputs** are `Input` layers and the outputs of data layers, with the shapes that these declare:
  {data}. The page does what Caffe does to data (`transform_param`: mean, scale, mirror). Labels
  that only losses read are not inputs.
* **Outputs** are the blobs that nothing reads, by name. {ends} are removed, and what `Silence`
  reads is no output. A loss is replaced by its prediction: {losses}.
* **Sizes.** Those of the definition are defaults, as in Caffe: `--input-shape data=N,3,H,W` builds
  one bundle for any batch, height and width that the layers allow.
* **Fields of forks** are listed and rejected, since ignoring a field could change results silently.
  In a prototxt they have names, and a plugin's handler can read them
  (`call.attr("foo_param.bar")`). In a weight file, they only have numbers.

The state of `LSTM` and `RNN` lasts from one run to the next, as in Caffe, until the sequence
markers end it. With `expose_hidden`, it is an input and an output instead.

## Verification

`verify` and `webkiln diff` compare with OpenCV's `dnn`, layer by layer. If OpenCV lacks a layer, or
computes it differently from Caffe, there is no reference, and one error names these layers; the
bundle is built. Outputs of Caffe itself can be recorded and used as `reference = "expected.npz"`
([references.md](references.md)). webkiln's tests compare these layers with their definitions in
numpy. The rows of `DetectionOutput` are ordered by image and label, best first, as in Caffe; an
image without detections has a row of -1.

Files are not trusted. A definition has at most 16 MB and 16 levels, and weight files are read field
by field, without copying arrays. Invalid files raise one error.

## Layers
"""
TAIL = """
Random pooling, an `eta` below 1 of `DetectionOutput`, convolutions over an axis other than 1, and
`BatchNorm` with weights other than BVLC's three are rejected. A handler can convert other layers:

```python plugin.py
from webkiln.frontends.caffe.converter import CaffeConverter


@CaffeConverter.register_handler("Mish")
def mish(call):
    x = call.tensor(0)
    return x * call.op("Tanh", [call.op("Softplus", [x])])
```

Build it with `webkiln build deploy.prototxt --plugin plugin.py`. With `domain="python"`, the name
is that of a `Python` layer's class. `--from-layer` and `--to-layer` build a part of a net
([parts.md](parts.md)).
"""


def options(name: str) -> str:
    """A layer's options, without fillers and choices between equivalent implementations."""
    parameter = parameter_of(name)
    if parameter is None:
        return ""
    parameter_type = (
        messages()["LayerParameter"].DESCRIPTOR.fields_by_name[f"{parameter}_param"].message_type
    )
    assert parameter_type.name in PARAMETERS
    excluded = (
        "engine",
        "force_nd_im2col",
        "moving_average_fraction",
        "stable_prod_grad",
        "debug_info",
        "visualize",
        "visualize_threshold",
        "save_file",
    )
    return ", ".join(
        f"`{field.name}`"
        for field in parameter_type.fields
        if field.name not in excluded and not field.name.endswith(("filler", "save_output_param"))
    )


def nets(name: str) -> int:
    return sum(
        name in TYPE.findall(text)
        for text in (
            *(case.current or case.text for case in NETS.values()),
            *(generate() for generate in LARGE.values()),
        )
    )


def page() -> str:
    """The generated page."""
    return wrap(_text())


def _text() -> str:
    losses = ", ".join(f"`{name}` by {kind or 'its operand'}" for name, kind in LOSSES.items())
    head = HEAD.replace(
        "{data}", ", ".join(f"`{name}`" for name in DATA if name != "Input")
    ).replace("{ends}", ", ".join(f"`{name}`" for name in ENDS))
    rows = [
        f"| `{name}` | {options(name)} | {'OpenCV' if name in SAME else ''} | {nets(name)} |"
        for name in sorted(LAYERS, key=str.lower)
    ]
    return "".join(
        [
            head.replace("{losses}", losses),
            "\n".join(
                [
                    "\n| layer | options | reference | nets in the tests |",
                    "|---|---|---|---|",
                    *rows,
                    "",
                ]
            ),
            "\n".join(
                [
                    "\n## Not converted\n",
                    "| layers | reason, and what to do |",
                    "|---|---|",
                    *(f"| {layers} | {reason} |" for layers, reason in UNSUPPORTED.items()),
                    "",
                ]
            ),
            TAIL,
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
