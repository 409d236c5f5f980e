"""Loads and stores of operands in linear memory, by element or by vector."""

from collections.abc import Iterator

from webkiln.codegen.addresses import Addresses, is_contiguous
from webkiln.codegen.context import Context
from webkiln.codegen.dialect import (
    ZEROS,
    Dialect,
    Pointers,
    fallback_name,
    plus,
    reads_shared_zeros,
)
from webkiln.codegen.values import Values
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

    def load(self, values: Values, expr: Expr, here: Context, t: int, v: int) -> str:
        position, index, guard = expr.value[0], load_index(expr), load_guard(expr)
        operand = self.kernel.nest.inputs[position]
        contiguous = (
            is_contiguous(values, index, here.vector) and self.kernel.panel(position) is None
        )
        first, lane = (0, v) if contiguous else (v, 0)
        if guard is None:
            pointer, at = self.addresses.pointer_and_offset(values, position, index, here, t, first)
            return self.dialect.load(operand, pointer, plus(at, lane))
        pointers = self.dialect.pointers
        if pointers and (contiguous or values.level(expr) > values.level(guard[0])):
            pointer, at = self._guarded_pointer(values, pointers, expr, here, (t, first))
            return self.dialect.load(operand, pointer, plus(at, lane))
        condition, other = (values.scalar(item, here, t, v) for item in guard)
        pointer, at = self.addresses.pointer_and_offset(values, position, index, here, t, v)
        return self.dialect.guarded(operand, pointer, at, condition, other)

    def vector_load(self, values: Values, expr: Expr, here: Context, t: int, v: int) -> str:
        """The addresses of copies on the vector axis differ by a constant."""
        assert here.simd is not None
        position, guard = expr.value[0], load_guard(expr)
        operand = self.kernel.nest.inputs[position]
        partial = here.partial and self.kernel.panel(position) is None
        pointers = self.dialect.pointers
        if guard is not None and pointers:
            pointer, at = self._guarded_pointer(values, pointers, expr, here, (t, 0))
            return here.simd.load(operand, pointer, at, v, partial)
        at = self.addresses.address(values, position, load_index(expr), here, t, 0)
        text = here.simd.load(operand, f"x{position}", at, v, partial)
        if guard is None:
            return text
        condition, other = (values.vector(item, here, t, v) for item in guard)
        return here.simd.operation(select(guard[0], expr, guard[1]), [condition, text, other])

    def _guarded_pointer(
        self,
        values: Values,
        pointers: Pointers,
        expr: Expr,
        here: Context,
        copy: tuple[int, int],
    ) -> tuple[str, str]:
        """Pointer and offset. The pointer is selected where the guard is defined. Deeper steps are
        multiplied by 0 or 1, so that inner loops have no branch.
        """
        position, index, guard = expr.value[0], load_index(expr), load_guard(expr)
        assert guard is not None
        operand, scopes = self.kernel.nest.inputs[position], values.scopes
        condition, where = values.scalar(guard[0], here, *copy), values.level(guard[0])
        base = self.addresses.address(values, position, index, here, *copy, only=where)
        zeros = reads_shared_zeros(self.kernel, expr)
        other = (
            ZEROS
            if zeros
            else fallback_name(operand, self.dialect.literal(guard[1].value, guard[1].type))
        )
        key = ("pointer", position, condition, base, other)
        pointer = scopes.lookup(key)
        if pointer is None:
            text = pointers.select_pointer(operand, f"x{position}", condition, base, other)
            pointer = scopes.bind(key, where, pointers.pointer_type(operand), text)
        inner = []
        for item in self.addresses.terms(values, position, index, here, *copy):
            if item.level > where:
                if zeros:
                    inner.append(item.text)
                    continue
                known_step = ("step", condition, item.text)
                product = scopes.lookup(known_step)
                if product is None:
                    walked = ("stride", condition, item.stride)
                    stride = scopes.lookup(walked) or scopes.bind(
                        walked, where, INT, f"{condition} ? {item.stride or '1'} : 0"
                    )
                    product = f"{item.factor} * {stride}"
                    scopes.blocks[item.level].values[known_step] = product
                inner.append(product)
        return pointer, " + ".join(inner) or "0"

    def stores(
        self,
        values: Values,
        position: int,
        store: tuple[Expr, tuple[Expr, ...]],
        here: Context,
        copy: tuple[int, int],
    ) -> Iterator[tuple[str, int, int]]:
        (value, index), (t, v), simd = store, copy, here.simd
        operand, slot = (
            self.kernel.nest.outputs[position].operand,
            len(self.kernel.nest.inputs) + position,
        )
        text = values.value(value, here, t, v)
        contiguous = is_contiguous(values, index, here.vector)
        if simd is None:
            first, lane = (0, v) if contiguous else (v, 0)
            pointer, at = self.addresses.pointer_and_offset(values, slot, index, here, t, first)
            yield self.dialect.store(operand, pointer, plus(at, lane), text), t, v
        elif contiguous and not self.is_ragged:
            at = self.addresses.address(values, slot, index, here, t, 0)
            yield simd.store(operand, f"y{position}", at, v, text, here.partial), t, v
        else:
            for lane in range(v, v + simd.width):
                first, offset = (0, lane) if contiguous else (lane, 0)
                at = self.addresses.address(values, slot, index, here, t, first)
                place = plus(at, offset)
                yield (
                    simd.store_lane(operand, f"y{position}", place, text, lane - v, here.partial),
                    t,
                    lane,
                )
