"""Custom operators."""

from collections.abc import Iterator

import numpy as np

from tests.frontends.tflite.operator_model import Single, T, f


def customs() -> Iterator[Single]:
    from flatbuffers import flexbuffers

    anchors = np.array(
        [
            [0.5, 0.5, 1, 1],
            [0.5, 0.5, 1, 1],
            [0.5, 0.5, 1, 1],
            [0.5, 10.5, 1, 1],
            [0.5, 10.5, 1, 1],
            [0.5, 100.5, 1, 1],
        ],
        np.float32,
    )
    boxes = np.array(
        [[0, 0, 0, 0], [0, 1, 0, 0], [0, -1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]],
        np.float32,
    )[None]
    for regular in (False, True):
        settings = {
            "max_detections": 3,
            "max_classes_per_detection": 1,
            "detections_per_class": 2,
            "use_regular_nms": regular,
            "nms_score_threshold": 0.0,
            "nms_iou_threshold": 0.5,
            "num_classes": 2,
            "y_scale": 10.0,
            "x_scale": 10.0,
            "h_scale": 5.0,
            "w_scale": 5.0,
        }
        inputs = [
            f(1, 6, 4, value=boxes),
            T("float32", (1, 6, 3), spread=-0.5),
            f(6, 4, value=anchors),
        ]
        outputs = [f(1, 3, 4), f(1, 3), f(1, 3), f(1)]
        yield Single(
            f"detections_{regular:d}",
            "TFLite_Detection_PostProcess",
            inputs,
            outputs,
            custom=bytes(flexbuffers.Dumps(settings)),
        )
