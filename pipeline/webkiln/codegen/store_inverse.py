"""The inverse of the stores of a nest: the offset of an element determines its index in each output
dimension, and that index determines the axes. Texels of no point are discarded and keep their
contents.
"""

from collections.abc import Sequence

from webkiln.codegen.context import SCALAR
from webkiln.codegen.values import Values
from webkiln.errors import InternalError
from webkiln.nest.affine import depends, step
from webkiln.nest.expr import INT, Expr, const, rebuild, walk
from webkiln.nest.nest import Loop


def nested_axes(item: Expr) -> list[str]:
    """The axes of an index `((first * a + start) * b + second) * c + ...`, the outermost first; []
    if it has another form.
    """
    names: list[str] = []
    is_scaled = True
    while item.op in ("add", "mul"):
        left, right = item.args
        if any(expr.op == "axis" for expr in walk([right])) and (
            right.op != "axis" or item.op == "mul"
        ):
            return []
        if right.op == "axis" and item.op == "add":
            if not is_scaled:
                return []
            names, is_scaled = [*names, str(right.value)], False
        is_scaled = is_scaled or item.op == "mul"
        item = left
    if item.op != "axis" or not is_scaled:
        return []
    return [str(item.value), *reversed(names)]


class StoreInverse:
    """Declares the axes of the element that a fragment stores. `loops`: those that are not declared
    yet.
    """

    def __init__(self, values: Values) -> None:
        self.values, self.scopes = values, values.scopes
        self.loops = {loop.axis: loop for loop in values.nest.axes}

    def print(self, texel: str, *, is_packed: bool) -> None:
        """Declare the axes, outermost dimension first. `texel`: the number of the texel. If it
        `is_packed`, it stores four elements.
        """
        index = self.values.nest.outputs[0].index
        positions = self._output_indices(texel, len(index), is_packed=is_packed)
        constrained: list[tuple[Expr, str]] = []
        for store_index, start in zip(index, positions, strict=True):
            item, position = self._unfold(store_index, start)
            names = [name for name in self.loops if depends(item, name)]
            if len(names) == 1 and step(item, names[0]) not in (0, None):
                self._solve_axis(item, position, self.loops.pop(names[0]))
            elif len(names) == 2 and 1 in (step(item, name) for name in names):
                order = sorted(names, key=lambda name: step(item, name) == 1)
                self._solve_nested(item, position, [self.loops.pop(name) for name in order])
            elif len(names) > 1 and set(order := nested_axes(item)) == set(names):
                self._solve_nested(item, position, [self.loops.pop(name) for name in order])
            else:
                constrained.append((item, position))
        if self.loops:
            raise InternalError(
                f"no single dimension of an output determines the axes {', '.join(self.loops)}"
            )
        for item, position in constrained:
            self._discard_if(f"{self._text(item)} != {position}")

    def _output_indices(self, texel: str, rank: int, *, is_packed: bool) -> list[str]:
        """The index in each dimension of the output."""
        slot, indices = len(self.values.nest.inputs), []
        rest = self._declare(f"({texel}) << 2" if is_packed else texel, "number")
        for dim in range(rank - 1):
            indices.append(self._declare(f"{rest} / s{slot}_{dim}"))
            rest = self._declare(f"{rest} - {indices[-1]} * s{slot}_{dim}")
        return [*indices, rest] if rank else []

    def _unfold(self, item: Expr, position: str) -> tuple[Expr, str]:
        """Take the inner axes off an index that merges several axes, `(outer * extent + inner)`. An
        index of more than two axes may also have an offset. Returns the remaining index and its
        text.
        """
        if (
            item.op == "add"
            and len([name for name in self.loops if depends(item, name)]) > 2
            and not any(depends(item.args[1], name) for name in self.loops)
        ):
            item, start = item.args
            position = self._declare(f"{position} - {self._text(start)}")
            self._discard_if(f"{position} < 0")
        while item.op == "add" and item.args[1].op == "axis" and item.args[0].op == "mul":
            (outer, extent), inner = item.args[0].args, item.args[1].value
            loop = self.loops.get(inner)
            if loop is None or extent is not loop.extent or depends(outer, inner):
                break
            del self.loops[inner]
            size = self._text(extent)
            quotient = self._declare(f"{position} / {size}")
            self._declare(f"{position} - {quotient} * {size}", inner)
            self.scopes.levels[inner] = 0
            item, position = outer, quotient
        return item, position

    def _solve_axis(self, item: Expr, position: str, loop: Loop) -> None:
        """Solve the index `start + axis * step` for the axis."""
        name, factor = loop.axis, step(item, loop.axis)
        start = _at_zero(item, name)
        distance = self._minus(position, start)
        if factor == 1:
            self._declare(distance, name)
        else:
            size = self._step_size(factor)
            self._declare(f"wk_idiv({distance}, {size})", name)
            self._discard_if(f"{name} * {size} != {distance}")
        self._check_bounds(loop)

    def _solve_nested(self, item: Expr, position: str, loops: Sequence[Loop]) -> None:
        """Solve the index `start + first * step + second * step + ... + last` for axes, the
        outermost first. No two points share an element, so the index of the inner axes is less than
        the step of an axis.
        """
        names = [loop.axis for loop in loops]
        start = _at_zero(item, *names)
        rest = self._minus(position, start)
        self._discard_if(f"{rest} < 0")
        for name in names:
            factor = step(item, name)
            if factor == 1:
                self._declare(rest, name)
                continue
            size = self._step_size(factor)
            self._declare(f"wk_idiv({rest}, {size})", name)
            rest = self._declare(f"{rest} - {name} * {size}")
        if step(item, names[-1]) != 1:
            self._discard_if(f"{rest} != 0")
        for loop in loops:
            self._check_bounds(loop)

    def _check_bounds(self, loop: Loop) -> None:
        self.scopes.levels[loop.axis] = 0
        self._discard_if(f"uint({loop.axis}) >= uint({self.values.extent(loop)})")

    def _step_size(self, factor: Expr | int | None) -> str:
        """The step of an index along an axis: one of its factors, or a product of several that the
        nest itself may not contain.
        """
        assert isinstance(factor, Expr)
        return self._text(factor)

    def _text(self, expr: Expr) -> str:
        return self.values.scalar(expr, SCALAR)

    def _minus(self, position: str, start: Expr) -> str:
        if start.op == "const" and start.value == 0:
            return position
        return self._declare(f"{position} - {self._text(start)}")

    def _declare(self, text: str, name: str | None = None) -> str:
        return self.scopes.declare(0, INT, text, name)

    def _discard_if(self, condition: str) -> None:
        self.scopes.blocks[-1].declarations.append(f"if ({condition}) discard;")


def _at_zero(item: Expr, *names: str) -> Expr:
    """An index in which these axes are 0."""
    return rebuild(item, lambda e: const(0, INT) if e.op == "axis" and e.value in names else None)
