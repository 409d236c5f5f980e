"""Chains that a function of the user's makes, with weights from a snapshot of Chainer, recorded as
nodes.
"""

from webkiln.frontends.core.model_format import ModelFormat

SPEC = "chainer.json"
"""The member of a recording that says which nodes there are."""

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
