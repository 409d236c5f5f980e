"""Nets of prior boxes and detection (SSD)."""

from tests.frontends.caffe.definitions import NUMPY, OPENCV, NetCase, input_layers, layer, net

SSD = (
    "num_classes: 4 share_location: %s background_label_id: %d nms_param { nms_threshold: %g %s }"
    " keep_top_k: %d confidence_threshold: %g %s"
)


def detection(options: str, *, shared: bool = True, oracle: str = OPENCV) -> NetCase:
    """A head over two grids, as SSD has them."""
    locations = 4 if shared else 16
    grids = {"a": (2, 5, 4, 5), "b": (2, 6, 2, 3)}
    text, heads = input_layers(image=(2, 3, 40, 50), **grids), {"loc": "", "conf": "", "priors": ""}
    for name, count in (("a", 4), ("b", 6)):
        sizes = (
            "min_size: 8 max_size: 15 aspect_ratio: 2"
            if count == 4
            else "min_size: 14 max_size: 30 aspect_ratio: 2 aspect_ratio: 3"
        )
        for head, features in (("loc", count * locations), ("conf", count * 4)):
            text += layer(
                "Convolution",
                f"{name}_{head}",
                name,
                convolution_param=f"num_output: {features} kernel_size: 3 pad: 1",
            )
            text += layer(
                "Permute",
                f"{name}_{head}_perm",
                f"{name}_{head}",
                permute_param="order: 0 order: 2 order: 3 order: 1",
            )
            text += layer(
                "Flatten", f"{name}_{head}_flat", f"{name}_{head}_perm", flatten_param="axis: 1"
            )
            heads[head] += f"{name}_{head}_flat "
        text += layer(
            "PriorBox",
            f"{name}_prior",
            f"{name} image",
            prior_box_param=(
                f"{sizes} flip: true clip: false variance: 0.1 variance: 0.1 variance: 0.2"
                " variance: 0.2"
            ),
        )
        heads["priors"] += f"{name}_prior "
    text += layer("Concat", "loc", heads["loc"], concat_param="axis: 1") + layer(
        "Concat", "conf", heads["conf"], concat_param="axis: 1"
    )
    text += layer("Concat", "priors", heads["priors"], concat_param="axis: 2")
    text += layer("Reshape", "by_box", "conf", reshape_param="shape { dim: 0 dim: -1 dim: 4 }")
    text += layer("Softmax", "scores", "by_box", softmax_param="axis: 2") + layer(
        "Flatten", "flat", "scores", flatten_param="axis: 1"
    )
    text += layer("DetectionOutput", "found", "loc flat priors", detection_output_param=options)
    return NetCase(text, {"image": (2, 3, 40, 50), **grids}, oracle)


DETECTION_NETS: dict[str, NetCase] = {
    "prior_box": net(
        layer("PriorBox", "a", "x image", prior_box_param="min_size: 10 aspect_ratio: 2"),
        layer(
            "PriorBox",
            "b",
            "x image",
            prior_box_param=(
                "min_size: 10 min_size: 20 max_size: 15 max_size: 40 aspect_ratio: 2 aspect_ratio:"
                " 3 flip: true clip: true variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2"
            ),
        ),
        layer(
            "PriorBox",
            "c",
            "x image",
            prior_box_param=(
                "min_size: 10.7 max_size: 20.9 flip: false aspect_ratio: 2 step: 8 offset: 0.25"
                " img_h: 90 img_w: 80"
            ),
        ),
        layer(
            "PriorBox",
            "d",
            "x image",
            prior_box_param="min_size: 12 step_h: 10 step_w: 7 img_size: 60",
        ),
        layer("Power", "both", "x"),
        x=(1, 2, 3, 4),
        image=(1, 3, 40, 50),
        oracle=NUMPY,
    ),
    "detection": detection(
        SSD % ("true", 0, 0.45, "top_k: 40", 20, 0.01, "code_type: CENTER_SIZE")
    ),
    "detection_by_label": detection(
        SSD % ("false", 1, 0.3, "", -1, 0.3, "code_type: CORNER"), shared=False, oracle=NUMPY
    ),
    "detection_few": detection(
        SSD
        % (
            "true",
            -1,
            0.6,
            "top_k: 7",
            5,
            0.1,
            "code_type: CORNER_SIZE variance_encoded_in_target: true",
        ),
        oracle=NUMPY,
    ),
    "detection_none": detection(
        SSD % ("true", 0, 0.45, "", 20, 1.5, "code_type: CENTER_SIZE"), oracle=NUMPY
    ),
}
