"""Loads and stores of operands in linear memory, by element or by vector."""

from collections.abc import Iterator

from webkiln.codegen.addresses import Addresses, Term, is_contiguous
from webkiln.codegen.context import Context, Copy
from webkiln.codegen.dialect import (
    ZEROS,
    Dialect,
    Pointers,
    fallback_name,
    plus,
    reads_shared_zeros,
)
from webkiln.codegen.values import Index, Values
from webkiln.nest.expr import INT, Expr, select
from webkiln.nest.nest import load_guard, load_index
from webkiln.nest.schedule import InvocationSchedule
from webkiln.plan.kernel import Kernel


class Buffers:
    """The operands of a kernel in linear memory. `is_ragged`: the elements of a vector are stored
    one by one, because some may be out of bounds.
    """

    def __init__(self, kernel: Kernel, dialect: Dialect) -> None:
        self.kernel, self.dialect = kernel, dialect
        self.addresses = Addresses(kernel, dialect.heap)
        schedule = kernel.schedule
        self.is_ragged = isinstance(schedule, InvocationSchedule) and not schedule.whole

    def load(self, values: Values, expr: Expr, at: Copy) -> str:
        position, index, guard = expr.value[0], load_index(expr), load_guard(expr)
        operand = self.kernel.nest.inputs[position]
        contiguous = (
            is_contiguous(values, index, at.here.vector) and self.kernel.panel(position) is None
        )
        first, lane = (at.lane(0), at.v) if contiguous else (at, 0)
        if guard is None:
            pointer, offset = self.addresses.pointer_and_offset(values, position, index, first)
            return self.dialect.load(operand, pointer, plus(offset, lane))
        pointers = self.dialect.pointers
        if pointers and (contiguous or values.level(expr) > values.level(guard[0])):
            pointer, offset = self._guarded_pointer(values, pointers, expr, first)
            return self.dialect.load(operand, pointer, plus(offset, lane))
        condition, other = (values.scalar(item, at) for item in guard)
        pointer, offset = self.addresses.pointer_and_offset(values, position, index, at)
        return self.dialect.guarded(operand, pointer, offset, condition, other)

    def vector_load(self, values: Values, expr: Expr, at: Copy) -> str:
        """The addresses of copies on the vector axis differ by a constant."""
        simd, position, guard = at.here.simd, expr.value[0], load_guard(expr)
        assert simd is not None
        operand, pointers = self.kernel.nest.inputs[position], self.dialect.pointers
        partial = at.here.partial and self.kernel.panel(position) is None
        if guard is not None and pointers:
            pointer, offset = self._guarded_pointer(values, pointers, expr, at.lane(0))
            return simd.load(operand, pointer, offset, at.v, partial)
        offset = self.addresses.address(values, position, load_index(expr), at.lane(0))
        text = simd.load(operand, f"x{position}", offset, at.v, partial)
        if guard is None:
            return text
        condition, other = (values.vector(item, at) for item in guard)
        return simd.operation(select(guard[0], expr, guard[1]), [condition, text, other])

    def _guarded_pointer(
        self, values: Values, pointers: Pointers, expr: Expr, at: Copy
    ) -> tuple[str, str]:
        """Pointer and offset. The pointer is selected where the guard is defined. Deeper steps are
        multiplied by 0 or 1, so that inner loops have no branch.
        """
        position, index, guard = expr.value[0], load_index(expr), load_guard(expr)
        assert guard is not None
        operand, scopes = self.kernel.nest.inputs[position], values.scopes
        condition, where = values.scalar(guard[0], at), values.level(guard[0])
        base = self.addresses.address(values, position, index, at, only=where)
        zeros = reads_shared_zeros(self.kernel, expr)
        literal = self.dialect.literal(guard[1].value, guard[1].type)
        other = ZEROS if zeros else fallback_name(operand, literal)
        key = ("pointer", position, condition, base, other)
        pointer = scopes.lookup(key)
        if pointer is None:
            text = pointers.select_pointer(operand, f"x{position}", condition, base, other)
            pointer = scopes.bind(key, where, pointers.pointer_type(operand), text)
        terms = self.addresses.terms(values, position, index, at)
        inner = [
            item.text if zeros else _guarded_step(values, item, condition, where)
            for item in terms
            if item.level > where
        ]
        return pointer, " + ".join(inner) or "0"

    def stores(
        self, values: Values, position: int, store: tuple[Expr, Index], at: Copy
    ) -> Iterator[tuple[str, Copy]]:
        (value, index), simd, partial = store, at.here.simd, at.here.partial
        operand = self.kernel.nest.outputs[position].operand
        slot = len(self.kernel.nest.inputs) + position
        text = values.value(value, at)
        contiguous = is_contiguous(values, index, at.here.vector)
        if simd is None:
            first, lane = (at.lane(0), at.v) if contiguous else (at, 0)
            pointer, offset = self.addresses.pointer_and_offset(values, slot, index, first)
            yield self.dialect.store(operand, pointer, plus(offset, lane), text), at
        elif contiguous and not self.is_ragged:
            offset = self.addresses.address(values, slot, index, at.lane(0))
            yield simd.store(operand, f"y{position}", offset, at.v, text, partial), at
        else:
            for lane in range(simd.width):
                element = at.lane(at.v + lane)
                first, rest = (at.lane(0), element.v) if contiguous else (element, 0)
                offset = plus(self.addresses.address(values, slot, index, first), rest)
                statement = simd.store_lane(operand, f"y{position}", offset, text, lane, partial)
                yield statement, element

    def joined_stores(
        self, values: Values, position: int, store: tuple[Expr, Index], here: Context
    ) -> list[str]:
        (value, index), simd = store, here.simd
        operand = self.kernel.nest.outputs[position].operand
        joined = None if simd is None else simd.joined_store(operand)
        if (
            joined is None
            or here.partial
            or here.vectors % joined.count
            or self.is_ragged
            or not is_contiguous(values, index, here.vector)
        ):
            return []
        slot, copies, found = len(self.kernel.nest.inputs) + position, list(here.copies), []
        for first in range(0, len(copies), joined.count):
            group = copies[first : first + joined.count]

            def vectors(expr: Expr, group: list[Copy] = group) -> list[str]:
                return [values.value(expr, copy) for copy in group]

            offset = self.addresses.address(values, slot, index, group[0].lane(0))
            found.append(joined.write(f"y{position}", offset, group[0].v, value, vectors))
        return found


def _guarded_step(values: Values, term: Term, condition: str, where: int) -> str:
    """A term of an address, or 0 if the condition, which is defined at level `where`, is false."""
    scopes = values.scopes
    known, walked = ("step", condition, term.text), ("stride", condition, term.stride)
    product = scopes.lookup(known)
    if product is None:
        stride = scopes.lookup(walked) or scopes.bind(
            walked, where, INT, f"{condition} ? {term.stride or '1'} : 0"
        )
        product = scopes.blocks[term.level].values[known] = f"{term.factor} * {stride}"
    return product
