"""Recordings of models: inputs, outputs, states, dynamic sizes, weights, and rejected code with its
line.
"""

import ast
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.frontends.chainer.reading import CORPUS, HERE, computed, recorded, small, snapshot
from webkiln.errors import RecipeError, ShapeError, SourceError, UnsupportedError, UserError
from webkiln.frontends.chainer import recorder
from webkiln.frontends.chainer.converter import ChainerConverter
from webkiln.frontends.chainer.functions.table import GROUPS, REFUSED
from webkiln.frontends.chainer.operators.table import FOLDS, OWN, STANDARD
from webkiln.ops.evaluate import run_graph


def test_states_persist_between_runs_as_in_chainer() -> None:
    graph = small("stateful", weights=HERE / "states.weights.npz")
    assert {state.name for state in graph.states} == {
        "lstm/c",
        "lstm/h",
        "gru/h",
        "gru/on",
        "peep/c",
        "peep/h",
        "zone/c",
        "zone/h",
        "mgu/h",
    }
    with np.load(HERE / "states.npz") as arrays:
        states: dict[str, np.ndarray] | None = None
        for step in range(3):
            outputs, values = run_graph(graph, {"x": arrays[f"in/{step}"]}, states=states)
            for name, got in outputs.items():
                assert np.abs(got - arrays[f"out/{step}/{name}"]).max() < 1e-5, (step, name)
            states = {state.name: values[state.output] for state in graph.states}


def test_a_state_needs_a_fixed_batch_size() -> None:
    with pytest.raises(
        SourceError,
        match=r"small.py, line \d+: LSTM keeps its state between runs, .* call reset_state\(\)",
    ):
        small("stateful", {"x": ["N", 3]}, HERE / "states.weights.npz")


def test_one_graph_computes_all_open_sizes() -> None:
    graph = small("opens", {"x": ["N", 3, "H", "W"]})
    for n, h, w in ((1, 6, 8), (2, 7, 4), (3, 1, 5)):
        x = np.random.default_rng(0).normal(size=(n, 3, h, w)).astype(np.float32)
        fixed = computed(small("opens", {"x": [n, 3, h, w]}), x)
        for got, expected in zip(computed(graph, x), fixed, strict=True):
            assert got.shape == expected.shape
            assert np.allclose(got, expected, atol=1e-6)


def test_conversion_fixes_and_renames_open_sizes() -> None:
    graph = small("opens", {"x": ["N", 3, "H", "W"]}, dims={"N": 2, "H": "rows"})
    assert [str(size) for size in graph.variables["x"].type.shape] == ["2", "3", "rows", "W"]
    x = np.ones((2, 3, 6, 4), np.float32)
    for got, expected in zip(
        computed(graph, x), computed(small("opens", {"x": [2, 3, 6, 4]}), x), strict=True
    ):
        assert np.allclose(got, expected, atol=1e-6)


def test_sequences_have_any_length() -> None:
    graph = small("sequence", {"x": ["T", 3]})
    for length in (1, 4, 9):
        x = np.random.default_rng(1).normal(size=(length, 3)).astype(np.float32)
        assert np.allclose(
            computed(graph, x)[0], computed(small("sequence", {"x": [length, 3]}), x)[0], atol=1e-6
        )


@pytest.mark.parametrize("name", ["classifier", "encoder", "resnet", "unet", "detector", "wavenet"])
def test_nets_with_open_sizes_match_chainer(name: str) -> None:
    with np.load(CORPUS / f"{name}.npz") as arrays:
        inputs = {key[3:]: arrays[key] for key in arrays.files if key.startswith("in/")}
        shapes = {
            key: [
                "N",
                *(
                    x.shape[1:]
                    if name in ("classifier", "unet")
                    else [
                        f"{key}_{d}" if d > 1 or x.ndim == 2 else size
                        for d, size in enumerate(x.shape[1:], 1)
                    ]
                ),
            ]
            for key, x in inputs.items()
        }
        graph = ChainerConverter().convert(*recorded(name, shapes, snapshot(name)))
        outputs, _ = run_graph(graph, inputs)
        for key, got in outputs.items():
            assert np.abs(got - arrays[f"out/{key}"]).max() < 1e-4 * max(np.abs(got).max(), 1)


def test_inputs_have_the_names_of_parameters() -> None:
    graph = small("shaped", {"first": ["N", 2], "second": ["N", 3]})
    assert tuple(graph.inputs) == ("first", "second")
    assert computed(graph, np.ones((4, 2), np.float32), np.ones((4, 3), np.float32))[0].shape == (
        4,
        5,
    )


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            {},
            (
                "the shape of the input first is not known; set it with --input-shape"
                " first=1,3,224,224"
            ),
        ),
        ({"third": [1]}, "there is no input third; inputs are first"),
        ({"": [1, 3]}, "arguments|missing|second"),
    ],
)
def test_missing_and_unknown_inputs_are_rejected(shapes: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        small("shaped", shapes)


def test_an_input_of_another_rank_is_rejected() -> None:
    with pytest.raises(SourceError, match=r"the input x has 2 axes, \[2, 3\]; got \[1, 3, 4\]"):
        small("constants", {"x": [1, 3, 4]})


@pytest.mark.parametrize("name", ["constants", "old_linear", "old_functions", "warmed"])
def test_functions_may_set_weights_themselves(name: str) -> None:
    assert computed(small(name), np.ones((2, 3), np.float32))[0].shape == (2, 2)


def test_arguments_of_chainer_1_are_translated() -> None:
    graph = small("old_convolutions")
    assert computed(graph, np.ones((1, 3, 4, 4), np.float32))[0].shape == (1, 2, 8, 8)
    kernels = [value.shape for value in graph.weights.values()]
    assert sorted(kernels) == [
        (2,),
        (2,),
        (2, 2, 2, 2),
        (2, 4, 3, 3),
        (4,),
        (4, 3, 3, 3),
        (4, 4, 3, 3),
    ]


MESSAGES = {
    "loss": (
        "chainer.functions.softmax_cross_entropy: is not"
        " converted. It trains a model; return its operands"
    ),
    "truth": (
        r"small.py, line \d+: the code needs the truth of a value of shape \[\], which is only"
        r" known when the model runs"
    ),
    "number": r"small.py, line \d+: the code needs the number of a value",
    "keeps": "comes from another recording: the model keeps what one call computed",
    "counts": "a second call computes differently",
    "classifier": "L.Classifier computes a loss; return its predictor",
    "shape": (
        r"small.py, line \d+: reshape \(Reshape\): the numbers of elements before and after differ:"
        r" 6 and 7"
    ),
    "ratio": "F.dropout: the code sets chainer.config.train",
    "unknown": (
        r"AttributeError: chainer.functions has no"
        r" no_such_function, in any supported version of Chainer"
    ),
    "numpy": "numpy.fft is applied to a value that is only known when the model runs",
    "strings": "the model returned str, expected variables",
    "nothing": "the model returned nothing",
    "grown": (
        "chainer.links.VGG16Layers: is not converted. It reads weights that are converted from"
        " Caffe"
    ),
    "backward": "gradients are not computed",
    "raises": r"small.py, line \d+: KeyError: 'missing'",
    "inside": "no weights were loaded for W; pass a snapshot",
    "random": "no weights were loaded for W; pass a snapshot with --weights FILE.npz",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_errors_name_the_function(name: str) -> None:
    with pytest.raises(UserError, match=MESSAGES[name]) as error:
        small("refused", which=name)
    assert "small:refused" in str(error.value)


def test_code_that_needs_the_value_of_a_size_is_rejected() -> None:
    with pytest.raises(
        ShapeError,
        match=(
            r"line \d+: the code needs the value of the open size N, for example for range\(\)"
            r" or numpy; set it in input_shapes"
        ),
    ):
        small("refused", {"x": ["N", 3]}, which="reads")


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        ("not_callable", SourceError, "returned int; it returns a chainer.Chain"),
        ("no_such", RecipeError, "the module has no function 'no_such'"),
        ("optimised", SourceError, "chainer.optimizers.Adam is not run"),
    ],
)
def test_functions_without_a_model_are_rejected(
    function: str, error: type[UserError], message: str
) -> None:
    with pytest.raises(error, match=message):
        small(function)


def test_integers_mix_with_floats_and_examples_are_concatenated() -> None:
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    mean, scaled, stacked = computed(small("mixtures"), x)
    assert np.allclose(mean, [2, 4.5])
    assert np.array_equal(scaled, x * [[1], [2]])
    assert np.array_equal(stacked, np.stack([x, x]))


def test_every_name_is_supported_or_refused_with_a_reason() -> None:
    supported = [name for group in GROUPS.values() for name in group]
    assert len(supported) == len(set(supported))
    assert not set(supported) & set(REFUSED)
    assert all(len(reason) > 10 for reason in REFUSED.values())


def test_a_refused_function_is_listed() -> None:
    with pytest.raises(UnsupportedError) as error:
        small("refused", which="loss")
    assert [item[0] for item in error.value.items] == ["chainer.functions.softmax_cross_entropy"]


def test_every_recorded_operator_has_a_handler() -> None:
    """The operators that the code names in calls, such as node("Gather", ...)."""
    standard = {schema.name for schema in onnx.defs.get_all_schemas()}
    folder = Path(recorder.__file__).parent
    recorded_operators = {
        item.value
        for path in folder.rglob("*.py")
        if path.parent.name != "operators"
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        for item in call.args
        if isinstance(item, ast.Constant) and item.value in standard | OWN.keys()
    }
    assert "Gather" in recorded_operators
    assert not recorded_operators - STANDARD.keys() - OWN.keys() - FOLDS.of_types.keys()
    assert not STANDARD.keys() - standard
