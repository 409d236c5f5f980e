"""Every field of the layers' parameters, with values other than the default, against the oracle."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.caffe.definitions import input_layers, layer
from tests.frontends.caffe.make import values_of
from tests.frontends.caffe.nets import NETS
from tests.frontends.caffe.options import OPTIONS
from tests.frontends.caffe.reading import converted
from tests.frontends.caffe.reference import Net
from tests.frontends.corpus import Sample, reference_mismatch
from webkiln.frontends.caffe.net import attributes, net_of, parameter_of
from webkiln.frontends.caffe.operators.table import LAYERS
from webkiln.frontends.caffe.schema import messages
from webkiln.frontends.caffe.text import read_text
from webkiln.frontends.caffe.upgrade import V0_FIELDS, upgraded

UNREAD = {
    "engine",
    "force_nd_im2col",
    "moving_average_fraction",
    "dropout_ratio",
    "stable_prod_grad",
    "visualize",
    "visualize_threshold",
    "save_file",
    "debug_info",
}
"""Fields without effect on the outputs of inference."""
EXEMPT = {
    ("Pooling", "pool"),
    ("SPP", "pool"),
    ("ReLU6", "negative_slope"),
    *(
        (kind, "axis")
        for kind in (
            "Convolution",
            "Deconvolution",
            "ConvolutionDepthwise",
            "DepthwiseConvolution",
            "Im2col",
        )
    ),
    ("Im2col", "num_output"),
    ("Im2col", "bias_term"),
    ("Im2col", "group"),
    ("ConvolutionDepthwise", "group"),
}
"""Fields that have no meaning for the layer, or whose other values are rejected."""


@pytest.mark.parametrize("name", OPTIONS)
def test_options_match_the_oracle(name: str, tmp_path: Path) -> None:
    case = OPTIONS[name]
    oracle, values = Net(case.text, seed=6), values_of(case)
    expected = oracle.outputs(values)
    (tmp_path / "net.prototxt").write_text(case.text)
    if weights := oracle.weight_file():
        (tmp_path / "net.caffemodel").write_bytes(weights)
    assert (
        reference_mismatch(
            Sample(name, converted(tmp_path / "net.prototxt"), values, expected, 2e-5)
        )
        is None
    )


def test_definitions_set_each_field_to_another_value() -> None:
    tried: dict[tuple[str, str], set[Any]] = {}
    for case in (*NETS.values(), *OPTIONS.values()):
        for item in read_text(case.text.encode(), "net").net.layer:
            for field in fields(item.type):
                value = getattr(getattr(item, f"{parameter_of(item.type)}_param"), field.name)
                tried.setdefault((item.type, field.name), set()).add(
                    tuple(value) if field.is_repeated else value
                )
    missing = {
        (kind, field.name): values
        for kind in LAYERS
        for field in fields(kind)
        if (kind, field.name) not in EXEMPT
        and field.name not in UNREAD
        and not covers(field, values := tried.get((kind, field.name), set()))
    }
    assert not missing


def fields(kind: str) -> Iterator[Any]:
    """The fields of a layer's own parameter that are not messages."""
    if name := parameter_of(kind):
        parameter = getattr(messages()["LayerParameter"](), f"{name}_param")
        yield from (field for field in parameter.DESCRIPTOR.fields if field.message_type is None)


def covers(field: Any, values: set[Any]) -> bool:
    if field.is_repeated:
        return any(values)
    if field.enum_type is not None:
        return values >= {item.number for item in field.enum_type.values}
    return (
        values >= {True, False}
        if field.type == field.TYPE_BOOL
        else bool(values - {field.default_value})
    )


OLDER = {
    "conv": (
        "Convolution",
        "convolution_param",
        {
            "num_output": "num_output: 4",
            "biasterm": "bias_term: false",
            "pad": "pad: 1",
            "kernelsize": "kernel_size: 3",
            "group": "group: 2",
            "stride": "stride: 3",
        },
    ),
    "innerproduct": (
        "InnerProduct",
        "inner_product_param",
        {"num_output": "num_output: 5", "biasterm": "bias_term: false"},
    ),
    "pool": (
        "Pooling",
        "pooling_param",
        {
            "pad": "pad: 1",
            "kernelsize": "kernel_size: 3",
            "stride": "stride: 3",
            "pool": "pool: AVE",
        },
    ),
    "lrn": (
        "LRN",
        "lrn_param",
        {"local_size": "local_size: 3", "alpha": "alpha: 0.3", "beta": "beta: 0.4", "k": "k: 2"},
    ),
    "concat": ("Concat", "concat_param", {"concat_dim": "axis: 2"}),
}


def test_every_field_of_the_first_format_is_covered() -> None:
    data = {"batchsize", "new_height", "new_width"}
    expected = {
        (field, kind) for field, kinds in V0_FIELDS.items() if field not in data for kind in kinds
    }
    assert {(field, kind) for kind, (_, _, fields) in OLDER.items() for field in fields} == expected


@pytest.mark.parametrize("kind", OLDER)
def test_fields_of_the_first_format_are_upgraded(kind: str) -> None:
    type_, param, fields = OLDER[kind]
    older_fields = " ".join(f"{field}: {value.split(': ')[1]}" for field, value in fields.items())
    head = 'input: "x" input_dim: 2 input_dim: 4 input_dim: 6 input_dim: 7\n'
    older = (
        head
        + f'layers {{ layer {{ name: "y" type: "{kind}" {older_fields} }} bottom: "x" top: "y" }}'
    )
    newer = input_layers(x=(2, 4, 6, 7)) + layer(
        type_, "y", "x", **{param: " ".join(fields.values())}
    )
    assert attributes_of(older) == attributes_of(newer)


def attributes_of(text: str) -> list[tuple[str, Any]]:
    """The types and attributes of a definition's layers."""
    net = net_of(upgraded(read_text(text.encode(), "net").net, "net"), {}, {}, "net")
    return [(item.type, attributes(item)) for item in net.layers]


def test_a_loss_has_the_axis_of_its_softmax() -> None:
    head = input_layers(x=(2, 3, 4), label=(2, 3))
    loss = head + layer("SoftmaxWithLoss", "loss", "x label", "loss y", softmax_param="axis: 2")
    plain = input_layers(x=(2, 3, 4)) + layer("Softmax", "loss", "x", "y", softmax_param="axis: 2")
    assert attributes_of(loss) == attributes_of(plain)
