"""Writes the corpus of models of scikit-learn, XGBoost, LightGBM and CatBoost: `python -m
tests.frontends.onnx.make [NAME ...]`.

It needs `pip install scikit-learn skl2onnx onnxmltools xgboost lightgbm catboost`. The expected
outputs come from onnxruntime, and must agree with the predictions of the library.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import catboost
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
TOLERANCE = 2e-3
"""Relative to the library's outputs. onnxruntime couples the probabilities of support vector
machines with fewer iterations, and computes some models in float32 instead of float64.
"""


@dataclass(frozen=True)
class TrainingCase:
    """A model to train. `classes`: their number, 0 for a regression. `gaps`: some features are NaN.
    `texts`: the classes are strings. `double`: the features are float64.
    """

    model: Callable[[], Any]
    classes: int = 0
    gaps: bool = False
    texts: bool = False
    double: bool = False
    targets: int = 1
    options: tuple[str, ...] = ("zipmap",)


def data(case: TrainingCase) -> tuple[np.ndarray, np.ndarray]:
    if case.classes:
        x, y = make_classification(
            300,
            FEATURES,
            n_informative=5,
            n_redundant=0,
            n_classes=case.classes,
            n_clusters_per_class=1,
            random_state=1,
        )
        y = np.array(["ant", "bee", "cat", "dog"])[y] if case.texts else y
    else:
        x, y = make_regression(300, FEATURES, n_targets=case.targets, noise=2.0, random_state=1)
        y = y / 50
    x = x.astype(np.float64 if case.double else np.float32)
    if case.gaps:
        x[np.random.default_rng(5).random(x.shape) < 0.15] = np.nan
    return x, y


def forests(kind: str) -> Callable[[], Any]:
    return lambda: getattr(ensemble, kind)(n_estimators=6, max_depth=4, random_state=3)


def columns() -> Any:
    """A pipeline over columns of several kinds."""
    scaled = pipeline.make_pipeline(
        impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler()
    )
    bounded = pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.MinMaxScaler())
    parts = compose.ColumnTransformer(
        [
            ("scaled", scaled, [0, 1, 2]),
            ("bounded", bounded, [3, 4]),
            ("marked", impute.SimpleImputer(), [5]),
        ]
    )
    return pipeline.make_pipeline(parts, linear_model.LogisticRegression())


MODELS: dict[str, TrainingCase] = {
    "logistic": TrainingCase(linear_model.LogisticRegression, 2),
    "logistic_texts": TrainingCase(linear_model.LogisticRegression, 3, texts=True),
    "ridge": TrainingCase(linear_model.Ridge),
    "linear_two": TrainingCase(linear_model.LinearRegression, targets=2),
    "linear_double": TrainingCase(linear_model.LinearRegression, double=True),
    "svc_linear": TrainingCase(svm.LinearSVC, 3, options=()),
    "svc": TrainingCase(lambda: svm.SVC(C=0.5, probability=True, random_state=2), 2),
    "svc_three": TrainingCase(
        lambda: svm.SVC(C=0.5, kernel="poly", probability=True, random_state=2), 3
    ),
    "svc_votes": TrainingCase(lambda: svm.SVC(C=0.5, kernel="sigmoid"), 4),
    "svr": TrainingCase(lambda: svm.SVR(C=2.0)),
    "one_class": TrainingCase(lambda: svm.OneClassSVM(nu=0.2), options=()),
    "tree": TrainingCase(lambda: tree.DecisionTreeClassifier(max_depth=5, random_state=1), 3),
    "tree_texts": TrainingCase(
        lambda: tree.DecisionTreeClassifier(max_depth=5, random_state=1), 2, texts=True
    ),
    "tree_numbers": TrainingCase(
        lambda: tree.DecisionTreeRegressor(max_depth=6, random_state=1), targets=2
    ),
    "forest": TrainingCase(forests("RandomForestClassifier"), 4),
    "forest_two": TrainingCase(forests("RandomForestClassifier"), 2),
    "forest_numbers": TrainingCase(forests("RandomForestRegressor")),
    "extra": TrainingCase(forests("ExtraTreesRegressor")),
    "boosting": TrainingCase(forests("GradientBoostingClassifier"), 3),
    "boosting_two": TrainingCase(forests("GradientBoostingClassifier"), 2),
    "boosting_numbers": TrainingCase(forests("GradientBoostingRegressor")),
    "histogram": TrainingCase(
        lambda: ensemble.HistGradientBoostingClassifier(max_iter=6, random_state=1), 2, gaps=True
    ),
    "histogram_numbers": TrainingCase(
        lambda: ensemble.HistGradientBoostingRegressor(max_iter=6, random_state=1), gaps=True
    ),
    "isolation": TrainingCase(
        lambda: ensemble.IsolationForest(n_estimators=5, max_samples=40, random_state=1), options=()
    ),
    "neighbours": TrainingCase(lambda: neighbors.KNeighborsClassifier(3), 3),
    "bayes": TrainingCase(naive_bayes.GaussianNB, 3),
    "perceptron": TrainingCase(
        lambda: neural_network.MLPClassifier((8,), max_iter=60, random_state=1), 3
    ),
    "scaled": TrainingCase(
        lambda: pipeline.make_pipeline(
            preprocessing.StandardScaler(),
            preprocessing.Normalizer("l1"),
            linear_model.LogisticRegression(),
        ),
        2,
    ),
    "bounded": TrainingCase(
        lambda: pipeline.make_pipeline(
            preprocessing.MinMaxScaler(), preprocessing.PolynomialFeatures(2), linear_model.Ridge()
        )
    ),
    "components": TrainingCase(
        lambda: pipeline.make_pipeline(
            decomposition.PCA(3), preprocessing.Binarizer(threshold=0.1), linear_model.Ridge()
        )
    ),
    "columns": TrainingCase(columns, 3, gaps=True),
    "adaboost": TrainingCase(
        lambda: ensemble.AdaBoostClassifier(n_estimators=3, random_state=1), 3
    ),
    "stacking": TrainingCase(
        lambda: ensemble.StackingClassifier(
            [
                ("line", linear_model.LogisticRegression()),
                ("tree", tree.DecisionTreeClassifier(max_depth=3, random_state=1)),
            ]
        ),
        2,
    ),
    "calibrated": TrainingCase(
        lambda: calibration.CalibratedClassifierCV(linear_model.LogisticRegression(), cv=2), 3
    ),
    "discriminant": TrainingCase(
        discriminant_analysis.QuadraticDiscriminantAnalysis, 3, texts=True
    ),
    "process": TrainingCase(
        lambda: pipeline.make_pipeline(
            decomposition.PCA(2), gaussian_process.GaussianProcessRegressor(alpha=1.0)
        )
    ),
    "clusters": TrainingCase(lambda: cluster.KMeans(4, n_init=2, random_state=1), options=()),
    "bins": TrainingCase(
        lambda: pipeline.make_pipeline(
            preprocessing.KBinsDiscretizer(3, encode="onehot-dense"), linear_model.Ridge()
        )
    ),
    "neighbours_numbers": TrainingCase(lambda: neighbors.KNeighborsRegressor(3)),
    "xgboost": TrainingCase(
        lambda: xgboost.XGBClassifier(n_estimators=6, max_depth=3, random_state=1), 2, gaps=True
    ),
    "xgboost_three": TrainingCase(
        lambda: xgboost.XGBClassifier(n_estimators=5, max_depth=3, random_state=1), 3
    ),
    "xgboost_numbers": TrainingCase(
        lambda: xgboost.XGBRegressor(n_estimators=6, max_depth=4, random_state=1), gaps=True
    ),
    "lightgbm": TrainingCase(
        lambda: lightgbm.LGBMClassifier(n_estimators=6, num_leaves=8, random_state=1, verbose=-1),
        2,
        gaps=True,
    ),
    "lightgbm_three": TrainingCase(
        lambda: lightgbm.LGBMClassifier(n_estimators=5, num_leaves=8, random_state=1, verbose=-1), 3
    ),
    "lightgbm_numbers": TrainingCase(
        lambda: lightgbm.LGBMRegressor(n_estimators=6, num_leaves=8, random_state=1, verbose=-1),
        gaps=True,
    ),
}


def catboost_model(kind: str = "CatBoostClassifier") -> Callable[[], Any]:
    return lambda: getattr(catboost, kind)(
        iterations=6, depth=3, random_seed=1, verbose=False, allow_writing_files=False
    )


def lightgbm_model() -> Any:
    return lightgbm.LGBMClassifier(n_estimators=5, num_leaves=8, random_state=1, verbose=-1)


def mapped(model: Callable[[], Any], classes: int, *, texts: bool = False) -> TrainingCase:
    """A classifier whose probabilities are dictionaries."""
    return TrainingCase(model, classes, texts=texts, options=())


MODELS |= {
    "catboost_numbers": TrainingCase(catboost_model("CatBoostRegressor")),
    "maps_catboost": mapped(catboost_model(), 2),
    "maps_catboost_three": mapped(catboost_model(), 3),
    "maps_logistic": mapped(linear_model.LogisticRegression, 3),
    "maps_texts": mapped(linear_model.LogisticRegression, 3, texts=True),
    "maps_svc": mapped(lambda: svm.SVC(C=0.5, probability=True, random_state=2), 3, texts=True),
    "maps_forest": mapped(forests("RandomForestClassifier"), 2, texts=True),
    "maps_scaled": mapped(
        lambda: pipeline.make_pipeline(
            preprocessing.StandardScaler(), linear_model.LogisticRegression()
        ),
        4,
    ),
    "maps_lightgbm": mapped(lightgbm_model, 3),
    "maps_lightgbm_texts": mapped(lightgbm_model, 2, texts=True),
    "maps_catboost_texts": mapped(catboost_model(), 3, texts=True),
}


@contextmanager
def integers_from_booleans() -> Iterator[None]:
    """Convert booleans in lists of integers, which skl2onnx writes and the onnx package rejects."""
    before = onnx.helper.make_attribute

    def make_attribute(key: str, value: Any, *rest: Any, **named: Any) -> onnx.AttributeProto:
        mixed = isinstance(value, list) and any(isinstance(item, bool) for item in value)
        return before(key, [int(item) for item in value] if mixed else value, *rest, **named)

    onnx.helper.make_attribute = make_attribute
    try:
        yield
    finally:
        onnx.helper.make_attribute = before


def exported(model: Any, case: TrainingCase, x: np.ndarray) -> onnx.ModelProto:
    module = type(model).__module__
    if module.startswith("lightgbm"):
        return onnxmltools.convert_lightgbm(
            model,
            initial_types=[("X", OtherFloats([None, FEATURES]))],
            zipmap=bool(case.classes) and "zipmap" not in case.options,
        )
    if module.startswith("catboost"):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            model.save_model(path, format="onnx")
            return onnx.load(path)
    if module.startswith("xgboost"):
        return onnxmltools.convert_xgboost(
            model, initial_types=[("X", OtherFloats([None, FEATURES]))]
        )
    kind = DoubleTensorType if case.double else FloatTensorType
    options = {id(model): {"zipmap": False}} if case.classes and "zipmap" in case.options else None
    with integers_from_booleans():
        return to_onnx(
            model,
            initial_types=[("X", kind([None, FEATURES]))],
            options=options,
            target_opset={"": 18, "ai.onnx.ml": 3},
        )


def make(name: str) -> None:
    case = MODELS[name]
    x, y = data(case)
    model = case.model().fit(x, y)
    proto = exported(model, case, x)
    proto.producer_version = proto.doc_string = ""
    rows = x[:ROWS]
    (key,) = [item.name for item in proto.graph.input]
    outputs = onnxruntime_outputs(proto, {key: rows})
    first, *rest = outputs.values()
    expected = np.asarray(model.predict(rows)).ravel() if case.classes else model.predict(rows)
    if case.classes:
        assert np.mean(first.ravel() == expected) > 0.95, name
    else:
        assert np.abs(first.ravel() - expected.ravel()).max() < TOLERANCE * max(
            np.abs(expected).max(), 1
        ), name
    if rest and hasattr(model, "predict_proba"):
        assert np.abs(rest[0] - model.predict_proba(rows)).max() < TOLERANCE * 5, (
            name,
            np.abs(rest[0] - model.predict_proba(rows)).max(),
        )
    if case.texts:
        classes = list(model.classes_)
        outputs = {
            name: np.array([classes.index(text) for text in value.ravel()]).reshape(value.shape)
            if value.dtype == object
            else value
            for name, value in outputs.items()
        }
    path = CORPUS / f"{name}.onnx"
    path.write_bytes(proto.SerializeToString(deterministic=True))
    write_sample(path, {key: rows}, outputs)


def main() -> int:
    warnings.simplefilter("ignore")
    CORPUS.mkdir(exist_ok=True)
    wrong = 0
    for name in sys.argv[1:] or MODELS:
        try:
            make(name)
        except Exception as error:  # noqa: BLE001 - the other models are still written
            print(f"{name}: {type(error).__name__}: {str(error)[-300:]}")
            wrong += 1
    print(
        f"{len(MODELS)} models, {sum(path.stat().st_size for path in CORPUS.iterdir()) // 1024} KiB"
    )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
