"""Layers of the oracle for detection with prior boxes (SSD).

https://arxiv.org/abs/1512.02325
"""

from math import prod, sqrt

import numpy as np

from tests.frontends.caffe.layer_calls import Blob, Call


def prior_box(call: Call, grid: Blob, image: Blob) -> Blob:
    param = call.layer.prior_box_param
    ratios = [1.0]
    for ratio in param.aspect_ratio:
        if all(abs(ratio - other) >= 1e-6 for other in ratios):
            ratios += [ratio] + [1 / ratio] * param.flip
    height, width = (
        param.img_h or param.img_size or image.shape[2],
        param.img_w or param.img_size or image.shape[3],
    )
    down, along = (
        param.step_h or param.step or height / grid.shape[2],
        param.step_w or param.step or width / grid.shape[3],
    )
    boxes = []
    for row, column in np.ndindex(*grid.shape[2:]):
        x, y = (column + param.offset) * along, (row + param.offset) * down
        for number, smallest in enumerate(map(int, param.min_size)):
            sizes = [(smallest, smallest)]
            if param.max_size:
                sizes.append((sqrt(smallest * int(param.max_size[number])),) * 2)
            sizes += [
                (smallest * sqrt(ratio), smallest / sqrt(ratio))
                for ratio in ratios
                if abs(ratio - 1) >= 1e-6
            ]
            boxes += [
                (
                    (x - w / 2) / width,
                    (y - h / 2) / height,
                    (x + w / 2) / width,
                    (y + h / 2) / height,
                )
                for w, h in sizes
            ]
    flat = np.array(boxes).ravel()
    variances = list(param.variance) or [0.1]
    return np.stack([flat.clip(0, 1) if param.clip else flat, np.resize(variances, flat.size)])[
        None
    ]


def overlap(a: Blob, b: Blob) -> float:
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    common = prod(sides) if (sides > 0).all() else 0.0
    areas = [prod(box[2:] - box[:2]) if (box[2:] >= box[:2]).all() else 0.0 for box in (a, b)]
    return common / (sum(areas) - common) if common else 0.0


def detection_output(call: Call, location: Blob, confidence: Blob, priors: Blob) -> Blob:
    param = call.layer.detection_output_param
    labels, boxes = param.num_classes, priors[0, 0].reshape(-1, 4)
    variances = (
        np.ones_like(boxes) if param.variance_encoded_in_target else priors[0, 1].reshape(-1, 4)
    )
    location = location.reshape(len(location), len(boxes), -1, 4)
    scores = confidence.reshape(len(location), len(boxes), labels)
    rows = []
    for image in range(len(location)):
        detections = []
        for label in range(labels):
            if label == param.background_label_id:
                continue
            delta = location[image, :, 0 if param.share_location else label] * variances
            size = boxes[:, 2:] - boxes[:, :2]
            if param.code_type == 2:
                centre = (boxes[:, :2] + boxes[:, 2:]) / 2 + delta[:, :2] * size
                half = np.exp(delta[:, 2:]) * size / 2
                decoded = np.concatenate([centre - half, centre + half], 1)
            else:
                decoded = boxes + delta * (np.tile(size, 2) if param.code_type == 3 else 1)
            row = scores[image, :, label]
            order = [
                n
                for n in np.argsort(-row, kind="stable")
                if not param.HasField("confidence_threshold") or row[n] > param.confidence_threshold
            ]
            if param.nms_param.HasField("top_k") and param.nms_param.top_k > -1:
                order = order[: param.nms_param.top_k]
            retained: list[int] = []
            for n in order:
                if all(
                    overlap(decoded[n], decoded[other]) <= param.nms_param.nms_threshold
                    for other in retained
                ):
                    retained.append(n)
            detections += [(image, label, row[n], *decoded[n]) for n in retained]
        if -1 < param.keep_top_k < len(detections):
            best = sorted(range(len(detections)), key=lambda n: -detections[n][2])[
                : param.keep_top_k
            ]
            detections = [
                detections[n]
                for n in sorted(best, key=lambda n: (detections[n][1], -detections[n][2]))
            ]
        rows += detections
    rows = rows or [(image, *[-1] * 6) for image in range(len(location))]
    return np.array(rows)[None, None]
