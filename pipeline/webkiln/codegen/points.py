"""The body at one point of the parallel axes, with all its copies (tile and lanes): accumulators,
reduction loops, epilogue, stores.
"""

from webkiln.codegen.dialect import plus
from webkiln.codegen.reductions import Reductions
from webkiln.codegen.values import AFTER_REDUCTION, accumulator
from webkiln.nest.expr import Expr


class Points(Reductions):
    """Prints the body at one point: accumulators, reduction, then epilogue and stores."""

    def point(self) -> None:
        simd = self.simd
        if self.rows:
            self.reduce_rows()
            self.simd = None
        elif self.nest.accumulators:
            for position, t, v in self.accumulators():
                self.here.statements += self.start(
                    self.nest.accumulators[position], accumulator(position, t, v)
                )
            self.reduction(list(self.nest.reduce), lambda: self.updates(accumulator))
            self.finish(accumulator)
        with self.block() as tail:
            self.levels[AFTER_REDUCTION] = len(self.blocks) - 1
            for position, out in enumerate(self.nest.outputs):
                for value, index in out.stores:
                    for t, v in self.copy_offsets():
                        self.store(position, value, index, t, v)
            del self.levels[AFTER_REDUCTION]
        self.here.statements += (
            ["{", *("  " + line for line in tail.lines()), "}"]
            if tail.declarations
            else tail.lines()
        )
        self.simd = simd

    def level(self, expr: Expr) -> int:
        """Values that only the epilogue uses are computed after the reduction, where they occupy no
        registers during it.
        """
        level, tail = super().level(expr), self.levels.get(AFTER_REDUCTION)
        return tail if tail is not None and self.nest.accumulators and level == tail - 1 else level

    def store(self, position: int, value: Expr, index: tuple[Expr, ...], t: int, v: int) -> None:
        operand = self.nest.outputs[position].operand
        slot = len(self.nest.inputs) + position

        def address_at(offset: int) -> str:
            return self.address(value, slot, index, t, offset)

        if self.simd is None:
            text = self.scalar(value, t, v)
            first, lane = (0, v) if self.is_contiguous(index) else (v, 0)
            pointer, offset = self.pointer_and_offset(value, slot, index, t, first)
            self.emit_store(self.dialect.store(operand, pointer, plus(offset, lane), text), t, v)
            return
        text = self.vector_value(value, t, v)
        if self.is_contiguous(index) and not self.ragged:
            self.emit_store(
                self.simd.store(operand, f"y{position}", address_at(0), v, text, self.partial),
                t,
                v,
            )
            return
        for lane in range(self.width):
            offset = (
                plus(address_at(0), v + lane) if self.is_contiguous(index) else address_at(v + lane)
            )
            self.emit_store(
                self.simd.store_lane(operand, f"y{position}", offset, text, lane, self.partial),
                t,
                v + lane,
            )

    @property
    def ragged(self) -> bool:
        """Whether the elements of a vector are stored one by one, because some may be out of
        bounds.
        """
        return False

    def emit_store(self, statement: str, t: int, v: int) -> None:
        """Store the value computed for the neighbours `t` and `v`."""
        self.here.statements.append(statement)
