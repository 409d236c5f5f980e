"""Linear models and support vector machines."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from tests.frontends.onnx.classical_nodes import KERNELS, POST, NodeCase, X, real


def linear() -> Iterator[NodeCase]:
    for post, count in [*product(POST[:4], (1, 3)), ("PROBIT", 3)]:
        attrs = {
            "coefficients": (real(count, 4, seed=1) * 0.2 + 0.1).ravel().tolist(),
            "intercepts": [0.3, 0.2, 0.4][:count],
        }
        scale = np.abs(X) * 0.2 if post == "PROBIT" else X
        yield NodeCase(
            f"regressor {post} {count}",
            "LinearRegressor",
            (scale,),
            {**attrs, "targets": count, "post_transform": post},
        )
        labels = [7, 9] if count == 1 else [4, 5, 6]
        yield NodeCase(
            f"classifier {post} {count}",
            "LinearClassifier",
            (scale,),
            {**attrs, "classlabels_ints": labels, "post_transform": post},
        )
    yield NodeCase(
        "classifier of two",
        "LinearClassifier",
        (X,),
        {
            "coefficients": real(8).tolist(),
            "intercepts": [0.3, 0.2],
            "classlabels_ints": [0, 1],
            "post_transform": "SOFTMAX",
        },
    )
    yield NodeCase(
        "classifier of int64",
        "LinearClassifier",
        ((X * 3).astype(np.int64),),
        {"coefficients": real(8).tolist(), "intercepts": [0.3, 0.2], "classlabels_ints": [0, 1]},
    )
    yield NodeCase(
        "regressor PROBIT 1",
        "LinearRegressor",
        (X,),
        {"coefficients": [0.05] * 4, "intercepts": [0.5], "post_transform": "PROBIT"},
    )
    yield NodeCase(
        "regressor without intercepts", "LinearRegressor", (X,), {"coefficients": real(4).tolist()}
    )


def machines() -> Iterator[NodeCase]:
    for kernel, classes in product(KERNELS, (2, 3, 4)):
        sizes = [3, 2, 4, 1][:classes]
        total, pairs = sum(sizes), classes * (classes - 1) // 2
        attrs = {
            "kernel_type": kernel,
            "kernel_params": [0.3, 0.5, 3.0],
            "vectors_per_class": sizes,
            "support_vectors": real(total, 4).ravel().tolist(),
            "coefficients": real(classes - 1, total).ravel().tolist(),
            "rho": real(pairs).tolist(),
            "classlabels_ints": [3, 5, 8, 9][:classes],
        }
        x = real(7, 4, seed=2)
        proba = {"prob_a": (-1 - np.abs(real(pairs))).tolist(), "prob_b": real(pairs).tolist()}
        for post in POST[:4] if kernel == "RBF" else ("NONE",):
            yield NodeCase(
                f"svc {kernel} {classes} {post}",
                "SVMClassifier",
                (x,),
                {**attrs, "post_transform": post},
            )
            yield NodeCase(
                f"svc proba {kernel} {classes} {post}",
                "SVMClassifier",
                (x,),
                {**attrs, **proba, "post_transform": post},
            )
        if kernel == "RBF":
            positive = {**attrs, "coefficients": np.abs(attrs["coefficients"]).tolist()}
            for post in POST[:4]:
                yield NodeCase(
                    f"svc positive {classes} {post}",
                    "SVMClassifier",
                    (x,),
                    {**positive, "post_transform": post},
                )
            yield NodeCase(
                f"svc positive proba {classes}", "SVMClassifier", (x,), {**positive, **proba}
            )
    for count in (2, 3):
        flat = {
            "coefficients": real(count, 4).ravel().tolist(),
            "rho": [0.25],
            "classlabels_ints": [3, 5, 8][:count],
            "kernel_type": "LINEAR",
            "kernel_params": [0.0, 0.0, 0.0],
        }
        yield NodeCase(f"svc linear without vectors {count}", "SVMClassifier", (X,), flat)
    for kernel, one in product(KERNELS, (0, 1)):
        attrs = {
            "kernel_type": kernel,
            "kernel_params": [0.3, 0.5, 2.0],
            "support_vectors": real(6, 4).ravel().tolist(),
            "coefficients": real(6).tolist(),
            "rho": [0.1],
            "n_supports": 6,
            "one_class": one,
        }
        yield NodeCase(f"svr {kernel} {one}", "SVMRegressor", (X,), attrs)
    yield NodeCase(
        "svr without vectors",
        "SVMRegressor",
        (X,),
        {
            "kernel_type": "LINEAR",
            "kernel_params": [0.0, 0.0, 0.0],
            "coefficients": real(4).tolist(),
            "rho": [0.1],
        },
    )
