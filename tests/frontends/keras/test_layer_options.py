"""Random valid options of convolutions and pooling layers agree with Keras on both backends. They
are the same in every run.
"""

import keras
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.frontends.keras.layer_cases import LayerCase
from tests.frontends.keras.layer_trees import run_trees, tree

COUNT = 60
KINDS = ("Conv", "ConvTranspose", "DepthwiseConv", "SeparableConv", "MaxPooling", "AveragePooling")


def per_axis(rank, low, high):
    return st.tuples(*[st.integers(low, high)] * rank)


@st.composite
def layers(draw):
    """A (class, options, shapes) that Keras builds, and that it computes or has an oracle for."""
    kind = draw(st.sampled_from(KINDS))
    rank = draw(st.integers(1, 2 if kind in ("DepthwiseConv", "SeparableConv") else 3))
    padding = draw(st.sampled_from(("valid", "same")))
    window = draw(per_axis(rank, 1, 4))
    strides = (
        (draw(st.integers(1, 3)),) * rank
        if kind in ("DepthwiseConv", "SeparableConv")
        else draw(per_axis(rank, 1, 3))
    )
    gaps = (
        draw(per_axis(rank, 1, 2))
        if max(strides) == 1 and "Conv" in kind and rank < 3
        else (1,) * rank
    )
    sizes = tuple(
        (k - 1) * gap + 1 + draw(st.integers(0, 4)) for k, gap in zip(window, gaps, strict=True)
    )
    channels, groups = draw(st.sampled_from(((1, 1), (3, 1), (4, 2), (6, 3), (9, 1))))
    first = draw(st.booleans()) and max(gaps) == 1
    options = {
        "strides": strides,
        "padding": padding,
        "data_format": "channels_first" if first else "channels_last",
    }
    if "Pooling" in kind:
        options |= {"pool_size": window}
    else:
        options |= {"kernel_size": window, "dilation_rate": gaps, "use_bias": draw(st.booleans())}
        options |= (
            {"depth_multiplier": draw(st.integers(1, 2))}
            if kind in ("DepthwiseConv", "SeparableConv")
            else {}
        )
        options |= (
            {}
            if kind == "DepthwiseConv"
            else {"filters": groups * draw(st.sampled_from((1, 3, 6)))}
        )
        options |= {"groups": groups} if kind == "Conv" else {}
    oracle = (
        "channels_last"
        if first and "Conv" in kind
        else "spread"
        if kind == "ConvTranspose" and max(gaps) > 1
        else ""
    )
    name = f"Conv{rank}DTranspose" if kind == "ConvTranspose" else f"{kind}{rank}D"
    return name, LayerCase(
        options, ((channels, *sizes) if first else (*sizes, channels),), oracle=oracle
    )


@pytest.fixture(scope="module")
def drawn():
    cases = {}

    @settings(
        max_examples=COUNT, derandomize=True, database=None, deadline=None, phases=[Phase.generate]
    )
    @given(layers())
    def collect(case):
        cases.setdefault(case[0], []).append(case[1])

    collect()
    keras.utils.clear_session(free_memory=False)
    return tree(cases)


@pytest.mark.parametrize(("backend", "variant"), [("js", ""), ("wasm", "simd")])
@pytest.mark.sample("js-")
def test_random_options(drawn, backend, variant, tmp_path):
    assert len(drawn.expected) >= COUNT
    assert run_trees([drawn], backend, tmp_path, variant) == [{}]
