"""WebGL 2: one fragment per element. A Variable is a texture with one element per texel."""

from functools import partial

from webkiln.lower import canonicalize, concat_in_place, defer_softmax, draws, fuse, tile_chains
from webkiln.lower.passes import Pass
from webkiln.nest.target import WORDS, ChainBytes, Draws, Memory, Target
from webkiln.plan import float16_storage, plan_memory, storage, texels
from webkiln.program_builder.backend import Settings
from webkiln.program_builder.loop_backend import LoopBackend
from webkiln.weights.init import decoding_call

TARGET = Target(
    "webgl", Draws(targets=4), memory=Memory(WORDS), chain_bytes=ChainBytes(products=1 << 25)
)


def rewriting(settings: Settings) -> tuple[Pass, ...]:
    target = settings.target
    runs = target.runs
    assert isinstance(runs, Draws)
    return (
        Pass("fuse", fuse.run),
        Pass("concat_in_place", partial(concat_in_place.run, no_self_reads=True)),
        Pass("defer_softmax", defer_softmax.run),
        Pass("tile_chains", partial(tile_chains.run, target=target)),
        Pass("canonicalize", canonicalize.run),
        Pass("draws", partial(draws.run, targets=runs.targets)),
        Pass("storage", partial(storage.run, target=target)),
    )


def scheduling(settings: Settings) -> tuple[Pass, ...]:
    target = settings.target
    decoding = [decoding_call(piece, None, target)[0] for piece in settings.weights.pieces]
    return (
        Pass("texels", partial(texels.run, decoding=decoding)),
        Pass("float16_storage", partial(float16_storage.run, target=target)),
        Pass("plan_memory", partial(plan_memory.run, target=target, weights=settings.weights)),
    )


BACKEND = LoopBackend(TARGET, rewriting, scheduling)
