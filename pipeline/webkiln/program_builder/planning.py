"""The passes between a graph and the code of a backend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webkiln.ir.graph import Graph
from webkiln.ir.types import Type, itemsize
from webkiln.lower.lower import unfused
from webkiln.lower.pipeline import Pass, finishing, restructuring
from webkiln.nest.program import PanelLayout, Program
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.plan import (
    choose_schedules,
    copy_padding,
    fast_convolutions,
    float16_storage,
    merge_pixels,
    pack_constants,
    plan_memory,
    storage,
    texels,
)
from webkiln.plan.storage import stored_call
from webkiln.plan.tuning import UNTUNED, Tuning
from webkiln.weights.init import ELEMENTS, HEADER, decode_call
from webkiln.weights.shards import Piece, pieces, stored


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights that a browser decodes: their types, in the order of first use, and the pieces in
    which they arrive.
    """

    types: Mapping[str, Type]
    pieces: Sequence[Piece]

    @property
    def staging(self) -> int:
        """The bytes of the largest piece."""
        return max((piece.bytes for piece in self.pieces), default=0)


def weights_of(graph: Graph, encoding: str = "float32") -> Weights:
    needed = stored(graph)
    return Weights({item.name: graph.type(item.name) for item in needed}, pieces(needed, encoding))


def plan(
    graph: Graph,
    target: Target,
    keep: Sequence[str] = (),
    weights: Weights | None = None,
    tuning: Tuning = UNTUNED,
) -> Program:
    """The program of `graph` for a backend, scheduled, and with the addresses of its buffers.
    Variables in `keep` are computed even where fusion could eliminate them, and stay readable after
    a run. `weights`: how they arrive; default: unencoded.
    """
    program = unfused(graph, keep)
    for item in passes(target, tuning, weights or weights_of(graph)):
        program = item.run(program)
    return program


def passes(target: Target, tuning: Tuning = UNTUNED, weights: Weights | None = None) -> list[Pass]:
    """The passes over programs, in order. Without `weights`, all constants are in memory when the
    program starts.
    """
    return [*rewriting(target, tuning), *scheduling(target, tuning, weights)]


def rewriting(target: Target, tuning: Tuning = UNTUNED) -> list[Pass]:
    """The passes that change what is computed. They keep results in any order."""
    found = restructuring(target)
    found.append(
        Pass("fast_convolutions", lambda program: fast_convolutions.run(program, target, tuning))
    )
    if target.loops and target.width > 1:
        found.append(Pass("copy_padding", lambda program: copy_padding.run(program, target)))
    found += finishing(target)
    found.append(Pass("storage", lambda program: storage.run(program, target)))
    if target.tiles_span_rows:
        found.append(Pass("merge_pixels", lambda program: merge_pixels.run(program, target)))
    return found


def scheduling(target: Target, tuning: Tuning, weights: Weights | None) -> list[Pass]:
    """The passes that decide how it is computed and where it lies."""
    known = weights or Weights({}, ())
    found: list[Pass] = []
    if target.render_targets:
        decoding = [decoding_call(piece, None, target)[0] for piece in known.pieces]
        found.append(Pass("texels", lambda program: texels.run(program, decoding)))
    else:
        found += (
            Pass("choose_schedules", lambda item: choose_schedules.run(item, target, tuning)),
            Pass("pack_constants", lambda program: pack_constants.run(program, target)),
        )
    if target.stores_float16:
        found.append(Pass("float16_storage", lambda program: float16_storage.run(program, target)))
    found.append(
        Pass(
            "plan_memory",
            lambda program: plan_memory.run(program, target, known.types, known.staging),
        )
    )
    return found


def decoding_call(
    piece: Piece, layout: PanelLayout | None, target: Target
) -> tuple[NestCall, str | None]:
    """The call that decodes a piece of weights, and the 64-bit dtype of its elements if they are
    narrowed before decoding.
    """
    raw = decode_call(piece, layout)
    elements = next(view.type.dtype for view in raw.inputs if view.name == ELEMENTS)
    narrow = target.stored(elements) != elements and itemsize(elements) == 8
    return stored_call(raw, target, {HEADER} if narrow else {HEADER, ELEMENTS}), (
        elements if narrow else None
    )
