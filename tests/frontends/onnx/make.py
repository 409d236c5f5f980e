"""Makes the corpus of models of scikit-learn, XGBoost and LightGBM: `python -m
tests.frontends.onnx.make [NAME ...]`.

It needs `pip install scikit-learn skl2onnx onnxmltools xgboost lightgbm`, which nothing else does.
Expected outputs are onnxruntime's, which have to agree with what the library itself predicts.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import onnx
import onnxmltools
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as OtherFloats
from skl2onnx import to_onnx
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
from sklearn import (
    calibration,
    cluster,
    compose,
    decomposition,
    discriminant_analysis,
    ensemble,
    gaussian_process,
    impute,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.datasets import make_classification, make_regression

from tests.frontends.corpus import write_sample
from tests.frontends.onnx.running import onnxruntime_outputs

CORPUS = Path(__file__).parent / "corpus"
FEATURES, ROWS = 6, 24
CLOSE = 2e-3
"""Of the library's outputs: onnxruntime couples probabilities of machines less far, and computes
some models in float32 that the library computes in float64.
"""


@dataclass(frozen=True)
class Trained:
    """A model to train: on `classes` (0: numbers), with gaps in its features, with texts as
    classes, of double features.
    """

    model: Callable[[], Any]
    classes: int = 0
    gaps: bool = False
    texts: bool = False
    double: bool = False
    targets: int = 1
    options: tuple[str, ...] = ("zipmap",)


def data(made: Trained) -> tuple[np.ndarray, np.ndarray]:
    if made.classes:
        x, y = make_classification(
            300,
            FEATURES,
            n_informative=5,
            n_redundant=0,
            n_classes=made.classes,
            n_clusters_per_class=1,
            random_state=1,
        )
        y = np.array(["ant", "bee", "cat", "dog"])[y] if made.texts else y
    else:
        x, y = make_regression(300, FEATURES, n_targets=made.targets, noise=2.0, random_state=1)
        y = y / 50
    x = x.astype(np.float64 if made.double else np.float32)
    if made.gaps:
        x[np.random.default_rng(5).random(x.shape) < 0.15] = np.nan
    return x, y


def forests(kind: str) -> Callable[[], Any]:
    return lambda: getattr(ensemble, kind)(n_estimators=6, max_depth=4, random_state=3)


def columns() -> Any:
    """A pipeline over columns of several kinds."""
    scaled = pipeline.make_pipeline(
        impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler()
    )
    whole = pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.MinMaxScaler())
    parts = compose.ColumnTransformer(
        [
            ("scaled", scaled, [0, 1, 2]),
            ("bounded", whole, [3, 4]),
            ("marked", impute.SimpleImputer(), [5]),
        ]
    )
    return pipeline.make_pipeline(parts, linear_model.LogisticRegression())


MODELS: dict[str, Trained] = {
    "logistic": Trained(linear_model.LogisticRegression, 2),
    "logistic_texts": Trained(linear_model.LogisticRegression, 3, texts=True),
    "ridge": Trained(linear_model.Ridge),
    "linear_two": Trained(linear_model.LinearRegression, targets=2),
    "linear_double": Trained(linear_model.LinearRegression, double=True),
    "svc_linear": Trained(svm.LinearSVC, 3, options=()),
    "svc": Trained(lambda: svm.SVC(C=0.5, probability=True, random_state=2), 2),
    "svc_three": Trained(
        lambda: svm.SVC(C=0.5, kernel="poly", probability=True, random_state=2), 3
    ),
    "svc_votes": Trained(lambda: svm.SVC(C=0.5, kernel="sigmoid"), 4),
    "svr": Trained(lambda: svm.SVR(C=2.0)),
    "one_class": Trained(lambda: svm.OneClassSVM(nu=0.2), options=()),
    "tree": Trained(lambda: tree.DecisionTreeClassifier(max_depth=5, random_state=1), 3),
    "tree_texts": Trained(
        lambda: tree.DecisionTreeClassifier(max_depth=5, random_state=1), 2, texts=True
    ),
    "tree_numbers": Trained(
        lambda: tree.DecisionTreeRegressor(max_depth=6, random_state=1), targets=2
    ),
    "forest": Trained(forests("RandomForestClassifier"), 4),
    "forest_two": Trained(forests("RandomForestClassifier"), 2),
    "forest_numbers": Trained(forests("RandomForestRegressor")),
    "extra": Trained(forests("ExtraTreesRegressor")),
    "boosting": Trained(forests("GradientBoostingClassifier"), 3),
    "boosting_two": Trained(forests("GradientBoostingClassifier"), 2),
    "boosting_numbers": Trained(forests("GradientBoostingRegressor")),
    "histogram": Trained(
        lambda: ensemble.HistGradientBoostingClassifier(max_iter=6, random_state=1), 2, gaps=True
    ),
    "histogram_numbers": Trained(
        lambda: ensemble.HistGradientBoostingRegressor(max_iter=6, random_state=1), gaps=True
    ),
    "isolation": Trained(
        lambda: ensemble.IsolationForest(n_estimators=5, max_samples=40, random_state=1), options=()
    ),
    "neighbours": Trained(lambda: neighbors.KNeighborsClassifier(3), 3),
    "bayes": Trained(naive_bayes.GaussianNB, 3),
    "perceptron": Trained(
        lambda: neural_network.MLPClassifier((8,), max_iter=60, random_state=1), 3
    ),
    "scaled": Trained(
        lambda: pipeline.make_pipeline(
            preprocessing.StandardScaler(),
            preprocessing.Normalizer("l1"),
            linear_model.LogisticRegression(),
        ),
        2,
    ),
    "bounded": Trained(
        lambda: pipeline.make_pipeline(
            preprocessing.MinMaxScaler(), preprocessing.PolynomialFeatures(2), linear_model.Ridge()
        )
    ),
    "components": Trained(
        lambda: pipeline.make_pipeline(
            decomposition.PCA(3), preprocessing.Binarizer(threshold=0.1), linear_model.Ridge()
        )
    ),
    "columns": Trained(columns, 3, gaps=True),
    "adaboost": Trained(lambda: ensemble.AdaBoostClassifier(n_estimators=3, random_state=1), 3),
    "stacking": Trained(
        lambda: ensemble.StackingClassifier(
            [
                ("line", linear_model.LogisticRegression()),
                ("tree", tree.DecisionTreeClassifier(max_depth=3, random_state=1)),
            ]
        ),
        2,
    ),
    "calibrated": Trained(
        lambda: calibration.CalibratedClassifierCV(linear_model.LogisticRegression(), cv=2), 3
    ),
    "discriminant": Trained(discriminant_analysis.QuadraticDiscriminantAnalysis, 3, texts=True),
    "process": Trained(
        lambda: pipeline.make_pipeline(
            decomposition.PCA(2), gaussian_process.GaussianProcessRegressor(alpha=1.0)
        )
    ),
    "clusters": Trained(lambda: cluster.KMeans(4, n_init=2, random_state=1), options=()),
    "bins": Trained(
        lambda: pipeline.make_pipeline(
            preprocessing.KBinsDiscretizer(3, encode="onehot-dense"), linear_model.Ridge()
        )
    ),
    "neighbours_numbers": Trained(lambda: neighbors.KNeighborsRegressor(3)),
    "xgboost": Trained(
        lambda: xgboost.XGBClassifier(n_estimators=6, max_depth=3, random_state=1), 2, gaps=True
    ),
    "xgboost_three": Trained(
        lambda: xgboost.XGBClassifier(n_estimators=5, max_depth=3, random_state=1), 3
    ),
    "xgboost_numbers": Trained(
        lambda: xgboost.XGBRegressor(n_estimators=6, max_depth=4, random_state=1), gaps=True
    ),
    "lightgbm": Trained(
        lambda: lightgbm.LGBMClassifier(n_estimators=6, num_leaves=8, random_state=1, verbose=-1),
        2,
        gaps=True,
    ),
    "lightgbm_three": Trained(
        lambda: lightgbm.LGBMClassifier(n_estimators=5, num_leaves=8, random_state=1, verbose=-1), 3
    ),
    "lightgbm_numbers": Trained(
        lambda: lightgbm.LGBMRegressor(n_estimators=6, num_leaves=8, random_state=1, verbose=-1),
        gaps=True,
    ),
}


@contextmanager
def whole_numbers() -> Iterator[None]:
    """The onnx package refuses truth values among whole numbers, of which skl2onnx gives some."""
    before = onnx.helper.make_attribute

    def make_attribute(key: str, value: Any, *rest: Any, **named: Any) -> onnx.AttributeProto:
        mixed = isinstance(value, list) and any(isinstance(item, bool) for item in value)
        return before(key, [int(item) for item in value] if mixed else value, *rest, **named)

    onnx.helper.make_attribute = make_attribute
    try:
        yield
    finally:
        onnx.helper.make_attribute = before


def exported(model: Any, made: Trained, x: np.ndarray) -> onnx.ModelProto:
    module = type(model).__module__
    if module.startswith("lightgbm"):
        return onnxmltools.convert_lightgbm(
            model, initial_types=[("X", OtherFloats([None, FEATURES]))], zipmap=False
        )
    if module.startswith("xgboost"):
        return onnxmltools.convert_xgboost(
            model, initial_types=[("X", OtherFloats([None, FEATURES]))]
        )
    kind = DoubleTensorType if made.double else FloatTensorType
    options = {id(model): {"zipmap": False}} if made.classes and "zipmap" in made.options else None
    with whole_numbers():
        return to_onnx(
            model,
            initial_types=[("X", kind([None, FEATURES]))],
            options=options,
            target_opset={"": 18, "ai.onnx.ml": 3},
        )


def make(name: str) -> None:
    made = MODELS[name]
    x, y = data(made)
    model = made.model().fit(x, y)
    proto = exported(model, made, x)
    proto.producer_version = proto.doc_string = ""
    rows = x[:ROWS]
    outputs = onnxruntime_outputs(proto, {"X": rows})
    first, *rest = outputs.values()
    expected = model.predict(rows)
    if made.classes:
        assert np.mean(first.ravel() == expected) > 0.95, name
    else:
        assert np.abs(first.ravel() - expected.ravel()).max() < CLOSE * max(
            np.abs(expected).max(), 1
        ), name
    if rest and hasattr(model, "predict_proba"):
        assert np.abs(rest[0] - model.predict_proba(rows)).max() < CLOSE * 5, (
            name,
            np.abs(rest[0] - model.predict_proba(rows)).max(),
        )
    if made.texts:
        classes = list(model.classes_)
        outputs = {
            key: np.array([classes.index(text) for text in value.ravel()]).reshape(value.shape)
            if value.dtype == object
            else value
            for key, value in outputs.items()
        }
    path = CORPUS / f"{name}.onnx"
    path.write_bytes(proto.SerializeToString(deterministic=True))
    write_sample(path, {"X": rows}, outputs)


def main() -> int:
    warnings.simplefilter("ignore")
    CORPUS.mkdir(exist_ok=True)
    wrong = 0
    for name in sys.argv[1:] or MODELS:
        try:
            make(name)
        except Exception as error:  # noqa: BLE001 - the others are made, too
            print(f"{name}: {type(error).__name__}: {str(error)[-300:]}")
            wrong += 1
    print(
        f"{len(MODELS)} models, {sum(path.stat().st_size for path in CORPUS.iterdir()) // 1024} KiB"
    )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
