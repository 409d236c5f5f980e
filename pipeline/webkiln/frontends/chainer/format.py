"""The format record: chains that a Python function creates, with weights from a Chainer snapshot,
recorded as nodes.
"""

from webkiln.frontends.core.model_format import ModelFormat

SPEC = "chainer.json"
"""The member of a recording that has its nodes."""

CHAINER = ModelFormat(
    name="chainer",
    title="a Chainer model",
    suffixes=(".chainer",),
    fits=lambda seen: SPEC in seen.members,
    parameters={
        "fetch": ("modules", "module_weights", "input_shapes"),
        "load": ("cut",),
        "convert": ("plugins", "cut", "dims", "input_shapes", "values"),
        "reference": (),
    },
    may_have_open_sizes=True,
)
