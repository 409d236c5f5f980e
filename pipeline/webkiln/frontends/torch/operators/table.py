"""All supported operators of ATen, torchvision and webkiln, by domain and name without overload."""

from collections.abc import Mapping

from webkiln.frontends.nodes.call import NodeHandler
from webkiln.frontends.nodes.if_and_loop import IF_AND_LOOP
from webkiln.frontends.nodes.states import STATES
from webkiln.frontends.torch.aten import AtenHandler, handled
from webkiln.frontends.torch.operators.activations import ACTIVATIONS
from webkiln.frontends.torch.operators.arithmetic import ARITHMETIC
from webkiln.frontends.torch.operators.casts import CASTS
from webkiln.frontends.torch.operators.codes import CODES
from webkiln.frontends.torch.operators.complex_parts import PARTS
from webkiln.frontends.torch.operators.control import NUMBERS
from webkiln.frontends.torch.operators.conv import CONV
from webkiln.frontends.torch.operators.creation import CREATION
from webkiln.frontends.torch.operators.elementwise import ELEMENTWISE
from webkiln.frontends.torch.operators.image import IMAGE, VISION
from webkiln.frontends.torch.operators.indexing import INDEXING
from webkiln.frontends.torch.operators.joins import JOINS
from webkiln.frontends.torch.operators.linear import LINEAR
from webkiln.frontends.torch.operators.norms import NORMS
from webkiln.frontends.torch.operators.orders import ORDERS
from webkiln.frontends.torch.operators.random import RANDOM
from webkiln.frontends.torch.operators.recurrent import RECURRENT
from webkiln.frontends.torch.operators.reduce import REDUCE
from webkiln.frontends.torch.operators.shape import SHAPE
from webkiln.frontends.torch.operators.slices import SLICES
from webkiln.frontends.torch.operators.spectrum import COMPLEX, FOURIER
from webkiln.frontends.torch.operators.windows import WINDOWS

ATEN: dict[str, AtenHandler] = {
    **ELEMENTWISE,
    **ARITHMETIC,
    **ACTIVATIONS,
    **CASTS,
    **SHAPE,
    **SLICES,
    **JOINS,
    **CREATION,
    **RANDOM,
    **WINDOWS,
    **LINEAR,
    **CONV,
    **REDUCE,
    **ORDERS,
    **NORMS,
    **INDEXING,
    **RECURRENT,
    **IMAGE,
    **FOURIER,
    **NUMBERS,
}
DOMAINS: Mapping[str, Mapping[str, NodeHandler]] = {
    "": {**handled(ATEN), **IF_AND_LOOP},
    "complex": handled({**PARTS, **COMPLEX}),
    "torchvision": handled(VISION),
    "webkiln": handled(CODES),
    "state": STATES,
}
