"""All links of `chainer.links`: supported ones, and unsupported ones with the reason."""

from collections.abc import Callable, Mapping
from typing import Any

from webkiln.errors import UnsupportedError
from webkiln.frontends.chainer.links.blocks import BLOCKS
from webkiln.frontends.chainer.links.convolution import CONVOLUTIONS
from webkiln.frontends.chainer.links.linear import LINEAR
from webkiln.frontends.chainer.links.others import OTHERS
from webkiln.frontends.chainer.links.recurrent import CELLS
from webkiln.frontends.chainer.links.sequences import SEQUENCES
from webkiln.frontends.chainer.links.trees import TREES

GROUPS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "With kernels": {**LINEAR, **CONVOLUTIONS, **BLOCKS},
    "Normalisations and others": OTHERS,
    "Recurrent": {**CELLS, **TREES, **SEQUENCES},
}
RECORDED: Mapping[str, Callable[..., Any]] = {
    name: link for group in GROUPS.values() for name, link in group.items()
}
LOSS = "it computes a loss; do not return it"
LAYERS = (
    "it reads weights that are converted from Caffe; write"
    " its definition as a chain, or build the Caffe files"
)
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("BinaryHierarchicalSoftmax", "BlackOut", "CRF1d", "NegativeSampling"), LOSS),
    **dict.fromkeys(
        (
            "GoogLeNet",
            "ResNet50Layers",
            "ResNet101Layers",
            "ResNet152Layers",
            "VGG16Layers",
            "VGG19Layers",
        ),
        LAYERS,
    ),
    "DecorrelatedBatchNormalization": (
        "whitening is not converted; multiply by its projection with F.matmul"
    ),
    "TheanoFunction": "it runs Theano",
}


def refusing(name: str, reason: str) -> Callable[..., Any]:
    def refuse(*args: Any, **options: Any) -> Any:
        raise UnsupportedError(
            f"L.{name}",
            [(f"chainer.links.{name}", "is not converted", f"{reason[0].upper()}{reason[1:]}")],
        )

    return refuse


LINKS: Mapping[str, Callable[..., Any]] = {
    **RECORDED,
    **{name: refusing(name, reason) for name, reason in REFUSED.items()},
}
