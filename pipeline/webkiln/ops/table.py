"""Every operator: importing this module defines them all."""

from webkiln.ops import elementwise, linear, pool, reduce, shape
from webkiln.ops.operator import OPERATORS

FAMILIES = (elementwise, linear, pool, reduce, shape)

__all__ = ["FAMILIES", "OPERATORS"]
