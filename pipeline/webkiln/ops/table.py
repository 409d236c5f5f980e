"""Every operator: importing this module defines them all."""

from webkiln.ops import conv, elementwise, linear, pool, reduce, shape
from webkiln.ops.operator import OPERATORS

FAMILIES = (elementwise, linear, conv, pool, reduce, shape)

__all__ = ["FAMILIES", "OPERATORS"]
