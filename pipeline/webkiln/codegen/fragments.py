"""What one fragment of a draw does: it finds the point of the parallel axes that its texel belongs to, and computes that point.

The stores of a nest are turned around: an element's place in the output gives its index in each dimension, and that index its axis.
Texels that no point belongs to are discarded and keep what they hold.
"""

from webkiln.codegen.points import Points
from webkiln.errors import InternalError
from webkiln.nest.affine import depends, step
from webkiln.nest.expr import INT, Expr, axis, const, rebuild
from webkiln.nest.nest import Loop

NUMBER = "number"
"""The place of the fragment's texel, row-major."""


class Fragments(Points):
    """All outputs have one index and one shape; their values are stored into variables named after them."""

    def run(self) -> list[str]:
        with self.block() as top:
            top.declarations += [self.dialect.declare(INT, name, text) for name, text in self.arguments()]
            self.locate()
            self.point()
        return top.lines()

    def arguments(self) -> list[tuple[str, str]]:
        """Every argument with its place in the argument block, four to a vector."""
        return [(name, f"P[{n // 4}].{'xyzw'[n % 4]}") for n, name in enumerate(self.kernel.arguments)]

    def locate(self) -> None:
        """Declare the axes, outermost dimension first; leave where an axis does not reach the texel."""
        index = self.nest.outputs[0].index
        places = self.places(len(index))
        loops = {loop.axis: loop for loop in self.nest.axes}
        left: list[tuple[Expr, str]] = []
        for item, place in zip(index, places, strict=True):
            names = [name for name in loops if depends(item, name)]
            if len(names) == 1 and step(item, names[0]) not in (0, None):
                self.solve(item, place, loops.pop(names[0]))
            else:
                left.append((item, place))
        if loops:
            raise InternalError(f"no single dimension of an output tells the axes {', '.join(loops)}")
        for item, place in left:
            self.leave(f"{self.scalar(item, 0, 0)} != {place}")

    def places(self, rank: int) -> list[str]:
        """The texel's index in each dimension of the output."""
        slot, rest, found = len(self.nest.inputs), NUMBER, []
        self.declare(0, INT, "int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x)", NUMBER)
        for dim in range(rank - 1):
            place = self.declare(0, INT, f"{rest} / s{slot}_{dim}")
            rest = self.declare(0, INT, f"{rest} - {place} * s{slot}_{dim}")
            found.append(place)
        return [*found, rest] if rank else []

    def solve(self, item: Expr, place: str, loop: Loop) -> None:
        """Find the axis from the index `start + axis * step` that it gives rise to."""
        name, along = loop.axis, step(item, loop.axis)
        start = rebuild(item, lambda e: const(0, INT) if e is axis(name) else None)
        first = start.op == "const" and start.value == 0
        distance = place if first else self.declare(0, INT, f"{place} - {self.scalar(start, 0, 0)}")
        if along == 1:
            self.declare(0, INT, distance, name)
        else:
            assert isinstance(along, Expr)
            size = self.scalar(along, 0, 0)
            self.declare(0, INT, f"wk_idiv({distance}, {size})", name)
            self.leave(f"{name} * {size} != {distance}")
        self.levels[name] = 0
        self.leave(f"uint({name}) >= uint({self.scalar(loop.extent, 0, 0)})")

    def leave(self, condition: str) -> None:
        self.here.declarations.append(f"if ({condition}) discard;")

    def store(self, position: int, value: Expr, index: tuple[Expr, ...], t: int, v: int) -> None:
        operand = self.nest.outputs[position].operand
        self.put(self.dialect.store(operand, f"y{position}", "", self.scalar(value, t, v)), t, v)
