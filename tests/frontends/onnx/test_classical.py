"""The operators of ai.onnx.ml compared with onnxruntime, with numpy and on every backend."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.commands.conftest import Command, cache, webkiln  # noqa: F401 - fixtures
from tests.frontends.corpus import BACKEND_STRIDES, Sample, mismatches, reference_mismatch
from tests.frontends.onnx.classical_cases import FAMILIES
from tests.frontends.onnx.classical_nodes import DOMAIN, NodeCase, real
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from tests.frontends.onnx.tree_cases import grown, sets, weighted
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.errors import ShapeError, SourceError, UnsupportedError
from webkiln.frontends.onnx.classical import DESCRIPTIONS
from webkiln.frontends.onnx.load import describe_model
from webkiln.recipe.recipe import Recipe, UserCode
from webkiln.recipe.sources import PathSource

TREES = grown(2, 2, 1)
ABSENT = ("Binarizer", "OneHotEncoder", "LabelEncoder")
"""Operators that onnxruntime supports for some types only; the onnx package's evaluator computes
the others.
"""
TWO_WEIGHTED = "[[0, 1]]", "[[0], [1]]"
"""Classifiers of two classes with weights for both. onnxruntime always labels them 0 and 1."""


def sample(case: NodeCase) -> Sample:
    model = case.model()
    try:
        outputs = onnxruntime_outputs(model, case.values)
    except Exception as error:
        if case.op not in ABSENT or "NOT_IMPLEMENTED" not in str(error):
            raise
        outputs = evaluated(model, case)
    if case.op == "TreeEnsembleClassifier" and any(ids in case.name for ids in TWO_WEIGHTED):
        labels = np.array(case.attrs["classlabels_int64s"])
        outputs |= {"y0": labels[outputs["y1"].argmax(1)]}
    return Sample(case.name, converted(model), case.values, outputs)


def evaluated(model: onnx.ModelProto, case: NodeCase) -> dict[str, np.ndarray]:
    evaluator = ReferenceEvaluator(model)
    outputs = dict(zip(evaluator.output_names, evaluator.run(None, case.values), strict=True))
    return {
        name: np.asarray(value, case.inputs[0].dtype if case.op == "Binarizer" else None)
        for name, value in outputs.items()
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_nodes_agree_with_onnxruntime(family: str) -> None:
    wrong = {
        case.name: message
        for case in FAMILIES[family]()
        if (message := reference_mismatch(sample(case)))
    }
    assert not wrong


def test_every_operator_has_a_case() -> None:
    assert {case.op for family in FAMILIES.values() for case in family()} == DESCRIPTIONS.keys()


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_nodes_match_on_backends(backend: str, every: int, tmp_path: Path) -> None:
    samples = [sample(case) for family in FAMILIES.values() for case in list(family())[::every]]
    assert not mismatches(samples, backend, tmp_path)


def one_node(op: str, **attrs: object) -> onnx.ModelProto:
    node = helper.make_node(op, ["x"], ["y"], "node", domain=DOMAIN, **attrs)
    kind = (
        onnx.TensorProto.INT64
        if op in ("CategoryMapper", "LabelEncoder")
        else onnx.TensorProto.FLOAT
    )
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info("x", kind, ["N", 3])],
        [helper.make_empty_tensor_value_info("y")],
    )
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 3)],
        ir_version=9,
    )


@pytest.mark.parametrize(
    ("op", "attrs", "message"),
    [
        (
            "CategoryMapper",
            {"cats_int64s": [1], "cats_strings": ["a"]},
            r"node \(CategoryMapper\): maps numbers to strings. Encode strings as numbers",
        ),
        (
            "LabelEncoder",
            {"keys_int64s": [1], "values_strings": ["a"]},
            r"node \(LabelEncoder\): maps strings \(values_strings\). Encode strings as numbers",
        ),
    ],
)
def test_strings_and_dictionaries_are_rejected_with_advice(
    op: str, attrs: dict[str, object], message: str
) -> None:
    with pytest.raises(UnsupportedError, match=message):
        converted(one_node(op, **attrs))


def forest(**changes: object) -> onnx.ModelProto:
    attrs = {**weighted(grown(2, 2, 1), "target", [[0]]), "n_targets": 1} | changes
    return one_node(
        "TreeEnsembleRegressor",
        **{name: value for name, value in attrs.items() if value is not None},
    )


def ring() -> list[int]:
    """Both successors of the first tree's nodes lead back to its second node."""
    nodes = TREES["nodes"]
    return [
        1 if mode != "LEAF" and tree == 0 and node else value
        for tree, node, mode, value in zip(
            nodes["nodes_treeids"],
            nodes["nodes_nodeids"],
            nodes["nodes_modes"],
            nodes["nodes_truenodeids"],
            strict=True,
        )
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes_modes": ["LEAF"]}, "its attribute nodes_modes has 1 elements, expected"),
        (
            {"nodes_modes": [*TREES["nodes"]["nodes_modes"][:-1], "ODD"]},
            "has a node of mode ODD, expected one of BRANCH_LEQ",
        ),
        (
            {"nodes_treeids": [0] * len(TREES["nodes"]["nodes_treeids"])},
            "two nodes have the same identifiers",
        ),
        (
            {"nodes_truenodeids": [77] * len(TREES["nodes"]["nodes_treeids"])},
            "a successor is node 77 of tree 0, which does not exist",
        ),
        ({"nodes_truenodeids": ring()}, "have a cycle|no other's successor"),
        (
            {"target_ids": [5] * len(TREES["leaves"])},
            "its attribute target_ids ranges from 5 to 5, expected 0 to 0",
        ),
        ({"n_targets": 1 << 40}, "classes or targets, expected 1 to 65536"),
        ({"base_values": [1.0, 2.0]}, "its attribute base_values has 2 elements, expected 1"),
        (
            {"aggregate_function": "MEDIAN"},
            "its attribute aggregate_function is 'MEDIAN', expected one of SUM, AVERAGE, MIN, MAX",
        ),
    ],
)
def test_inconsistent_trees_are_rejected(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        converted(forest(**changes))


def test_too_few_features_are_an_error() -> None:
    with pytest.raises(
        ShapeError,
        match=r"node .*: was trained on 4 or more features, its operand is float32\[N,3\]",
    ):
        converted(forest())


def test_ambiguous_post_transforms_are_rejected() -> None:
    case = next(iter(sets()))
    for code in (1, 2):
        changed = NodeCase(
            case.name, case.op, case.inputs, {**case.attrs, "post_transform": code}, 5
        )
        with pytest.raises(
            SourceError,
            match=(
                f"has post_transform {code}, which the standard"
                " and onnxruntime interpret differently"
            ),
        ):
            converted(changed.model())


@pytest.mark.parametrize("aggregate", range(4))
def test_float16_trees_match_float32(aggregate: int) -> None:
    """Compared with float32, since onnxruntime does not support float16 here."""
    case = next(case for case in sets() if case.name == f"sets float32 {aggregate} 0")
    outputs = onnxruntime_outputs(case.model(), case.values)
    tensors = {
        name: numpy_helper.from_array(numpy_helper.to_array(value).astype(np.float16))
        for name, value in case.attrs.items()
        if isinstance(value, onnx.TensorProto) and name != "nodes_modes"
    }
    narrow = NodeCase(
        case.name,
        case.op,
        tuple(value.astype(np.float16) for value in case.inputs),
        {**case.attrs, **tensors},
        5,
    )
    assert (
        reference_mismatch(
            Sample(
                case.name,
                converted(narrow.model()),
                narrow.values,
                {"y0": outputs["y0"].astype(np.float16)},
            )
        )
        is None
    )


def test_trained_numbers_are_weight_slots() -> None:
    """Another ensemble of the same structure has an equal graph."""
    first, second = (
        {**weighted(grown(2, 2, 1), "target", [[0]]), "n_targets": 1} for _ in range(2)
    )
    second["nodes_values"] = [value + 0.5 for value in second["nodes_values"]]
    models = [
        describe_model(
            NodeCase("t", "TreeEnsembleRegressor", (real(2, 4),), attrs).model(), "m.onnx"
        )[0]
        for attrs in (first, second)
    ]
    nodes = [model.graph.nodes for model in models]
    assert nodes[0] == nodes[1]
    assert models[0].graph.tensors != models[1].graph.tensors


def named(*classes: str, op: str = "LinearClassifier") -> onnx.ModelProto:
    case = next(case for case in FAMILIES["linear"]() if case.name == "classifier SOFTMAX 3")
    attrs = {name: value for name, value in case.attrs.items() if name != "classlabels_ints"}
    return NodeCase(
        case.name, op, case.inputs, {**attrs, "classlabels_strings": list(classes)}
    ).model()


def test_two_lists_of_class_names_are_rejected() -> None:
    model = named("a", "b", "c")
    other = named("x", "y", "z").graph.node[0]
    other.name, other.output[:] = "other", ["y2", "y3"]
    model.graph.node.append(other)
    with pytest.raises(
        UnsupportedError,
        match=(
            r"other \(LinearClassifier\): has class names"
            r" that repeat, or differ from those elsewhere"
        ),
    ):
        converted(model)


def test_computing_with_class_names_is_rejected() -> None:
    model = named("a", "b", "c")
    model.graph.node.append(helper.make_node("Unique", ["y0"], ["u"], "unique"))
    del model.graph.output[:]
    model.graph.output.append(helper.make_empty_tensor_value_info("u"))
    with pytest.raises(
        UnsupportedError,
        match=r"unique \(Unique\): computes with strings. Train it with numbers as classes",
    ):
        converted(model)


def test_class_names_become_labels_of_the_bundle(webkiln: Command, tmp_path: Path) -> None:  # noqa: F811
    """On the command line, and verified against onnxruntime."""
    (tmp_path / "flowers.onnx").write_bytes(named("rose", "tulip", "daisy").SerializeToString())
    done = webkiln("build", "flowers.onnx", "-o", "out", "--backend", "js")
    assert done.returncode == 0, done.stderr
    outputs = json.loads((tmp_path / "out" / "manifest.json").read_text())["outputs"]
    assert [item.get("labels") for item in outputs] == [None, ["rose", "tulip", "daisy"]]
    assert [item["dtype"] for item in outputs] == ["int64", "float32"]


@pytest.mark.parametrize("maps", [False, True])
def test_models_are_verified_against_onnxruntime(
    maps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = (
        mapped(classlabels_strings=["rose", "tulip", "daisy"])
        if maps
        else named("rose", "tulip", "daisy")
    )
    monkeypatch.setenv("WEBKILN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "flowers.onnx").write_bytes(model.SerializeToString())
    recipe = Recipe(
        "net",
        PathSource(tmp_path / "flowers.onnx"),
        backends=("js",),
        user_code=UserCode(project=tmp_path),
    )
    with Engine(tmp_path / "state") as engine:
        for action in ModelGraph(recipe, engine.share).verify(
            Selection(("js",), layers=True), "node"
        ):
            result = json.loads(
                engine.cache.store.path(
                    engine.run(action).outputs["result.json"].sha256
                ).read_text()
            )
            assert max(row["relative"] for row in result["outputs"]) < 1e-4


def mapped(**keys: list[int] | list[str]) -> onnx.ModelProto:
    """A classifier that ends in a ZipMap."""
    model = named("rose", "tulip", "daisy")
    model.graph.node.append(helper.make_node("ZipMap", ["y1"], ["maps"], domain=DOMAIN, **keys))
    model.graph.output[1].name = "maps"
    return model


@pytest.mark.parametrize(
    "keys",
    [
        {"classlabels_strings": ["rose", "tulip", "daisy"]},
        {"classlabels_strings": ["daisy", "tulip", "rose"]},
        {"classlabels_int64s": [7, -1, 3]},
    ],
)
def test_keys_of_dictionaries_become_labels(
    keys: dict[str, list[int] | list[str]],
    webkiln: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    (tmp_path / "flowers.onnx").write_bytes(mapped(**keys).SerializeToString())
    done = webkiln("build", "flowers.onnx", "-o", "out", "--backend", "js")
    assert done.returncode == 0, done.stderr
    outputs = json.loads((tmp_path / "out" / "manifest.json").read_text())["outputs"]
    (expected,) = ([str(key) for key in values] for values in keys.values())
    assert {item["name"]: item.get("labels") for item in outputs} == {"y0": None, "maps": expected}


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"classlabels_int64s": [1, 1, 2]},
        {"classlabels_int64s": [1, 2], "classlabels_strings": ["a"]},
        {"classlabels_int64s": [1, 2]},
    ],
)
def test_unsuitable_keys_are_rejected(keys: dict[str, list[int] | list[str]]) -> None:
    with pytest.raises((SourceError, ShapeError), match=r"(its keys are|has 2 keys)"):
        converted(mapped(**keys))


def test_class_names_without_an_output_are_rejected(
    webkiln: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    model = named("rose", "tulip", "daisy")
    del model.graph.output[1]
    (tmp_path / "flowers.onnx").write_bytes(model.SerializeToString())
    done = webkiln("build", "flowers.onnx", "-o", "out", "--backend", "js")
    assert done.returncode != 0
    assert (
        "names its 3 classes, but no output has that size. Train it with numbers as"
        " classes" in done.stderr
    )
