"""Addresses of elements: sums of indices times strides, whose parts are computed at the loop levels
on which they depend.
"""

from dataclasses import dataclass

from webkiln.codegen.context import Copy
from webkiln.codegen.values import Index, Values
from webkiln.nest.affine import step
from webkiln.nest.expr import INT
from webkiln.plan.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Term:
    """A summand of an address, `factor` times `stride` elements, defined at a loop level."""

    level: int
    factor: str
    stride: str | None = None

    @property
    def text(self) -> str:
        return self.factor if self.stride is None else f"{self.factor} * {self.stride}"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of the operands of a kernel: relative to the operand, or to the heap."""

    kernel: Kernel
    heap: bool

    def operand(self, position: int) -> str:
        inputs = len(self.kernel.nest.inputs)
        return f"x{position}" if position < inputs else f"y{position - inputs}"

    def terms(self, values: Values, position: int, index: Index, at: Copy) -> list[Term]:
        """The address of an element as summands."""
        panel = self.kernel.panel(position)
        summands: list[Term] = []
        for dim, item in enumerate(index):
            if item.op == "const" and item.value == 0:
                continue
            text, level = values.scalar(item, at), values.level(item)
            stride = f"s{position}_{dim}"
            if panel is None:
                summands.append(Term(level, text, None if dim == len(index) - 1 else stride))
            elif dim == panel.dim:
                block, lane = (
                    f"({text} >> {panel.block.bit_length() - 1})",
                    f"({text} & {panel.block - 1})",
                )
                summands += (
                    [Term(level, block, stride), Term(level, lane)]
                    if panel.order
                    else [Term(level, text)]
                )
            else:
                summands.append(
                    Term(level, text, str(panel.block) if dim == panel.order[-1] else stride)
                )
        return summands

    def address(
        self, values: Values, position: int, index: Index, at: Copy, *, only: int | None = None
    ) -> str:
        """Sum the terms level by level, so that each loop only adds the terms that change in it.
        `only` limits the level.
        """
        summands = [
            item
            for item in self.terms(values, position, index, at)
            if only is None or item.level <= only
        ]
        total = self.operand(position) if self.heap else ""
        for level in sorted({item.level for item in summands}):
            parts = ([total] if total else []) + [
                item.text for item in summands if item.level == level
            ]
            text = " + ".join(parts)
            if text.isidentifier():
                total = text
                continue
            key = ("address", text)
            scopes = values.scopes
            total = scopes.lookup(key) or scopes.bind(key, level, INT, text)
        return total or "0"

    def pointer_and_offset(
        self, values: Values, position: int, index: Index, at: Copy
    ) -> tuple[str, str]:
        """Pointer and offset of an element."""
        address = self.address(values, position, index, at)
        return (address, "0") if self.heap else (self.operand(position), address)


def is_contiguous(values: Values, index: Index, name: str | None) -> bool:
    """Whether neighbours on an axis are neighbours in memory."""
    if name is None or not index or step(index[-1], name) != 1:
        return False
    return not any(name in values.depends(item) for item in index[:-1])
