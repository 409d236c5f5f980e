"""Recurrent layers in integers and with int8 weights, compared with the reference kernels of the
interpreter. Layers of int8 must be equal bit by bit.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.bundle_weights import (
    bundle_bytes,
    products,
    wasm_program,
)
from tests.frontends.corpus import Sample, mismatches, reference_mismatch
from tests.frontends.tflite.files import weight_bytes
from tests.frontends.tflite.loading import graph_of
from tests.frontends.tflite.make import single_inputs
from tests.frontends.tflite.operator_model import Single, T, model_bytes
from tests.frontends.tflite.singles.recurrent import recurrent
from tests.frontends.tflite.singles.recurrent_integers import integer_lstm
from tests.sampling import representative
from webkiln.frontends.tflite.reference import Interpreted

BACKENDS = [("js", ""), ("wasm", "relaxed"), ("wasm", "simd"), ("webgpu", ""), ("webgl", "")]
SIZES = ((1, 5, 33, 19), (3, 4, 16, 24))
"""Of the batch, the sequence, the features and the cells."""
ASYMMETRIC = {"asymmetricQuantizeInputs": True}
TOLERANCE = 1 / 255
"""Of floats: one code, since a state between two codes may be rounded in either direction."""


def integer_layers() -> Iterator[Single]:
    """With peepholes, a projection keeps the size: the interpreter omits those of other cells."""
    flags = [(False, True)] * 4
    for sizes, clip, coupled, peephole, projected, major in itertools.product(
        SIZES, (0.0, 1.5), *flags
    ):
        batch, steps, features, cells = sizes
        out = (cells if peephole else 7) if projected else 0
        ends = (steps, batch) if major else (batch, steps)
        yield integer_lstm(
            f"lstm {batch} {coupled} {peephole} {projected} {clip} {major}",
            *ends,
            features,
            cells,
            cifg=coupled,
            peephole=peephole,
            out=out,
            cell_clip=clip,
            projection_clip=clip if projected else 0.0,
            major=major,
        )


def symmetric(single: Single, name: str) -> Single:
    """A layer without weights of -128, which the format excludes: kernels that use SSE would negate
    them in 8 bits.
    """

    def limited(item: T | None) -> T | None:
        if item is None or item.dtype != "int8" or item.value is None:
            return item
        return replace(item, value=np.maximum(item.value, -127))

    return replace(single, name=name, inputs=[limited(item) for item in single.inputs])


def hybrid_layers() -> Iterator[Single]:
    for sizes, asymmetric in itertools.product(SIZES, (False, True)):
        for single in recurrent(sizes, asymmetricQuantizeInputs=asymmetric):
            if "int8" in single.name:
                yield symmetric(single, f"{single.name} {sizes[0]} {asymmetric}")


def samples(layers: Iterable[Single], folder: Path) -> list[Sample]:
    found = []
    for single in layers:
        path = folder / f"{single.name}.tflite"
        path.write_bytes(model_bytes(single))
        inputs = single_inputs(single)
        outputs, _ = Interpreted(path)(inputs)
        found.append(Sample(single.name, graph_of(path), inputs, outputs, TOLERANCE))
    return found


@pytest.mark.parametrize("layers", [integer_layers, hybrid_layers])
def test_layers_match_the_interpreter(layers, tmp_path):
    found = samples(layers(), tmp_path)
    assert len(found) >= 32
    results = {sample.name: reference_mismatch(sample) for sample in found}
    assert not {name: message for name, message in results.items() if message is not None}


@pytest.mark.parametrize("every", representative([3, 9], 9))
@pytest.mark.parametrize(("backend", "variant"), BACKENDS)
def test_layers_on_backends(backend, variant, every, tmp_path):
    """Nine is coprime to the numbers of values, so that each one occurs."""
    layers = [*list(integer_layers())[::every], *list(hybrid_layers())[::every]]
    assert mismatches(samples(layers, tmp_path), backend, tmp_path, variant=variant) == {}


@pytest.mark.parametrize("batch", [1, 2])
def test_weights_stay_in_8_bits(batch, tmp_path):
    """In the bundle and in memory. All rows of the input are multiplied at once."""
    sizes = (batch, 6, 136, 128)
    whole = integer_lstm("whole", *sizes)
    hybrids = [symmetric(item, item.name) for item in recurrent(sizes, **ASYMMETRIC)]
    for single in (whole, *(item for item in hybrids if "plain_int8" in item.name)):
        path = tmp_path / f"{single.name}.tflite"
        path.write_bytes(model_bytes(single))
        graph = graph_of(path)
        assert bundle_bytes(graph) <= 1.05 * weight_bytes(path)
        program = wasm_program(graph)
        found, decoding = products(program), len(program.init)
        assert found == [("int8", "dot_product")] * 8
        assert not decoding
