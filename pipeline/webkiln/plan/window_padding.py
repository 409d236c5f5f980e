"""Read images in place, instead of their copies with padding, in convolutions of few channels."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from webkiln.ir.dim import Size, known
from webkiln.lower.canonicalize import canonicalize, without_unit_dimensions
from webkiln.lower.fuse import is_map
from webkiln.lower.substitute import substituted
from webkiln.nest.expr import FLOAT, INT, Expr, const, make
from webkiln.nest.nest import Operand, load_guard, load_index
from webkiln.nest.steps import NestCall, View


def in_place(copy: NestCall, call: NestCall) -> NestCall | None:
    """The canonical call with guarded reads in place of those of a copy. None if `copy` is no
    padded copy. Other operands have the shapes that they have in the canonical form of `call`.
    """
    (name, *others) = (view.name for view in copy.outputs)
    value = copy.nest.outputs[0].value
    guard = load_guard(value) if value.op == "load" else None
    if others or not is_map(copy.nest) or guard is None or guard[1] is not const(0, FLOAT):
        return None
    reader = without_unit_dimensions(call)
    direct = substituted(without_unit_dimensions(copy), reader, name)
    if direct is None:
        return None
    result = canonicalize(
        replace(
            direct, layer=call.layer, exact=call.exact, passes=call.passes, outputs=reader.outputs
        )
    )
    for view in canonicalize(call).inputs:
        result = _reshaped(result, view)
    return result


def _reshaped(call: NestCall, view: View) -> NestCall:
    """The call that reads a Variable as `view`, if the dimensions of that are products of
    neighbouring ones.
    """
    positions = [n for n, item in enumerate(call.inputs) if item.name == view.name]
    if len(positions) != 1 or call.inputs[positions[0]].shape == view.shape:
        return call
    (position,) = positions
    groups = _groups(call.inputs[position].shape, view.shape)
    if groups is None:
        return call
    sizes = call.inputs[position].shape

    def merged(index: Sequence[Expr]) -> list[Expr]:
        result = []
        for group in groups:
            value = index[group[0]]
            for dim in group[1:]:
                value = value * const(known(sizes[dim], view.name), INT) + index[dim]
            result.append(value)
        return result

    def change(expr: Expr) -> Expr | None:
        if expr.op != "load" or expr.value[0] != position:
            return None
        index = load_index(expr)
        return make("load", expr.type, (*merged(index), *expr.args[len(index) :]), expr.value)

    inputs = [*call.nest.inputs]
    inputs[position] = Operand(view.type.dtype, view.type.rank)
    nest = replace(call.nest.map(change), inputs=tuple(inputs))
    views = tuple(view if n == position else item for n, item in enumerate(call.inputs))
    return replace(call, nest=nest, inputs=views)


def _groups(sizes: Sequence[Size], products: Sequence[Size]) -> list[list[int]] | None:
    """The neighbouring dimensions of `sizes` whose products are `products`, or None."""
    rest = list(range(len(sizes)))
    groups: list[list[int]] = []
    for size in products:
        group = [rest.pop(0)] if rest else []
        while rest and group and prod(sizes[dim] for dim in group) != size:
            group.append(rest.pop(0))
        if not group or prod(sizes[dim] for dim in group) != size:
            return None
        groups.append(group)
    return None if rest else groups
