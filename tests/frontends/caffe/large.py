"""The structures of well-known nets, after their published definitions, with few channels."""

from tests.frontends.caffe.definitions import conv, input_layers, layer
from tests.frontends.caffe.detection_nets import SSD


def rectified(name: str, bottom: str, features: int, size: int, more: str = "") -> str:
    return conv(name, bottom, features, size, more) + layer("ReLU", f"relu_{name}", name, name)


def pool(name: str, bottom: str, more: str) -> str:
    return layer("Pooling", name, bottom, pooling_param=more)


def googlenet(size: int = 96, width: int = 4) -> str:
    """Nine inception modules, with maximum and average pooling that rounds up sizes."""

    def inception(name: str, bottom: str) -> str:
        text = rectified(f"{name}/1x1", bottom, width, 1)
        text += rectified(f"{name}/3x3_reduce", bottom, width, 1) + rectified(
            f"{name}/3x3", f"{name}/3x3_reduce", width, 3, "pad: 1"
        )
        text += rectified(f"{name}/5x5_reduce", bottom, width, 1) + rectified(
            f"{name}/5x5", f"{name}/5x5_reduce", width, 5, "pad: 2"
        )
        text += pool(
            f"{name}/pool", bottom, "pool: MAX kernel_size: 3 stride: 1 pad: 1"
        ) + rectified(f"{name}/pool_proj", f"{name}/pool", width, 1)
        return text + layer(
            "Concat", f"{name}/output", f"{name}/1x1 {name}/3x3 {name}/5x5 {name}/pool_proj"
        )

    text = input_layers(data=(1, 3, size, size)) + rectified(
        "conv1/7x7_s2", "data", 2 * width, 7, "pad: 3 stride: 2"
    )
    text += pool("pool1", "conv1/7x7_s2", "pool: MAX kernel_size: 3 stride: 2") + layer(
        "LRN", "norm1", "pool1", lrn_param="local_size: 5 alpha: 0.0001 beta: 0.75"
    )
    text += rectified("conv2/reduce", "norm1", width, 1) + rectified(
        "conv2/3x3", "conv2/reduce", 2 * width, 3, "pad: 1"
    )
    text += layer(
        "LRN", "norm2", "conv2/3x3", lrn_param="local_size: 5 alpha: 0.0001 beta: 0.75"
    ) + pool("pool2", "norm2", "pool: MAX kernel_size: 3 stride: 2")
    last = "pool2"
    for name in ("3a", "3b", "pool3", "4a", "4b", "4c", "4d", "4e", "pool4", "5a", "5b"):
        if name.startswith("pool"):
            text += pool(name, last, "pool: MAX kernel_size: 3 stride: 2")
            last = name
        else:
            text += inception(f"inception_{name}", last)
            last = f"inception_{name}/output"
    text += pool("pool5", last, f"pool: AVE kernel_size: {size // 32} stride: 1") + layer(
        "Dropout", "drop", "pool5", "pool5", dropout_param="dropout_ratio: 0.4"
    )
    return (
        text
        + layer("InnerProduct", "classifier", "pool5", inner_product_param="num_output: 10")
        + layer("Softmax", "prob", "classifier")
    )


def resnet50(size: int = 64, width: int = 4) -> str:
    """Sixteen blocks of three convolutions with in-place BatchNorm and Scale."""

    def normalised(
        name: str, bottom: str, features: int, more: str, *, size: int, relu: bool = True
    ) -> str:
        text = conv(f"res{name}", bottom, features, size, f"{more} bias_term: false")
        text += layer(
            "BatchNorm",
            f"bn{name}",
            f"res{name}",
            f"res{name}",
            batch_norm_param="use_global_stats: true",
        )
        text += layer(
            "Scale", f"scale{name}", f"res{name}", f"res{name}", scale_param="bias_term: true"
        )
        return text + (layer("ReLU", f"res{name}_relu", f"res{name}", f"res{name}") if relu else "")

    text = input_layers(data=(1, 3, size, size)) + normalised(
        "1", "data", width, "stride: 2 pad: 3", size=7
    )
    text += pool("pool1", "res1", "kernel_size: 3 stride: 2 pool: MAX")
    last = "pool1"
    for stage, blocks in enumerate((3, 4, 6, 3), 2):
        for number in range(blocks):
            name, stride = (
                f"{stage}{'abcdef'[number]}",
                f"stride: {2 if stage > 2 and not number else 1}",
            )
            features = width * 2 ** (stage - 2)
            short = last
            if not number:
                text += normalised(
                    f"{name}_branch1", last, 2 * features, stride, size=1, relu=False
                )
                short = f"res{name}_branch1"
            text += normalised(f"{name}_branch2a", last, features, stride, size=1)
            text += normalised(
                f"{name}_branch2b", f"res{name}_branch2a", features, "pad: 1", size=3
            )
            text += normalised(
                f"{name}_branch2c", f"res{name}_branch2b", 2 * features, "", size=1, relu=False
            )
            text += layer("Eltwise", f"res{name}", f"{short} res{name}_branch2c") + layer(
                "ReLU", f"res{name}_relu", f"res{name}", f"res{name}"
            )
            last = f"res{name}"
    text += pool("pool5", last, f"kernel_size: {size // 32} stride: 1 pool: AVE")
    return (
        text
        + layer("InnerProduct", "fc", "pool5", inner_product_param="num_output: 10")
        + layer("Softmax", "prob", "fc")
    )


def squeezenet(size: int = 75, width: int = 4) -> str:
    """Eight fire modules and global pooling."""
    text = (
        input_layers(data=(1, 3, size, size))
        + rectified("conv1", "data", 2 * width, 3, "stride: 2")
        + pool("pool1", "conv1", "pool: MAX kernel_size: 3 stride: 2")
    )
    last = "pool1"
    for number in range(2, 10):
        fire = f"fire{number}"
        text += rectified(f"{fire}/squeeze1x1", last, width, 1)
        text += rectified(f"{fire}/expand1x1", f"{fire}/squeeze1x1", width, 1) + rectified(
            f"{fire}/expand3x3", f"{fire}/squeeze1x1", width, 3, "pad: 1"
        )
        text += layer("Concat", f"{fire}/concat", f"{fire}/expand1x1 {fire}/expand3x3")
        last = f"{fire}/concat"
        if number in (3, 5):
            text += pool(f"pool{number}", last, "pool: MAX kernel_size: 3 stride: 2")
            last = f"pool{number}"
    text += (
        layer("Dropout", "drop9", last, last)
        + rectified("conv10", last, 10, 1)
        + pool("pool10", "conv10", "pool: AVE global_pooling: true")
    )
    return text + layer("Softmax", "prob", "pool10")


def ssd300(size: int = 300, width: int = 4, classes: int = 5) -> str:
    """VGG with a dilated fc6, and six grids with their heads. Keeps 40 boxes; the scores of any two
    differ by more than rounding errors.
    """
    text, last = input_layers(data=(1, 3, size, size)), "data"
    for block, count in enumerate((2, 2, 3, 3, 3), 1):
        for number in range(1, count + 1):
            text += rectified(f"conv{block}_{number}", last, width, 3, "pad: 1")
            last = f"conv{block}_{number}"
        text += pool(
            f"pool{block}",
            last,
            (
                "pool: MAX kernel_size: 3 stride: 1 pad: 1"
                if block == 5
                else "pool: MAX kernel_size: 2 stride: 2"
            ),
        )
        last = f"pool{block}"
    text += rectified("fc6", last, 2 * width, 3, "pad: 6 dilation: 6") + rectified(
        "fc7", "fc6", 2 * width, 1
    )
    last = "fc7"
    for number, more in ((6, "pad: 1 stride: 2"), (7, "pad: 1 stride: 2"), (8, ""), (9, "")):
        text += rectified(f"conv{number}_1", last, width, 1) + rectified(
            f"conv{number}_2", f"conv{number}_1", width, 3, more
        )
        last = f"conv{number}_2"
    text += layer(
        "Normalize",
        "conv4_3_norm",
        "conv4_3",
        norm_param=(
            "across_spatial: false scale_filler { type: 'constant' value: 20 } channel_shared:"
            " false"
        ),
    )
    sizes = {
        "conv4_3_norm": (30, 60, 8, 1),
        "fc7": (60, 111, 16, 2),
        "conv6_2": (111, 162, 32, 2),
        "conv7_2": (162, 213, 64, 2),
        "conv8_2": (213, 264, 100, 1),
        "conv9_2": (264, 315, 300, 1),
    }
    heads: dict[str, list[str]] = {"loc": [], "conf": [], "priorbox": []}
    for source, (smallest, largest, step, ratios) in sizes.items():
        count = 2 + 2 * ratios
        for head, features in (("loc", 4 * count), ("conf", classes * count)):
            name = f"{source}_mbox_{head}"
            text += conv(name, source, features, 3, "pad: 1") + layer(
                "Permute", f"{name}_perm", name, permute_param="order: 0 order: 2 order: 3 order: 1"
            )
            text += layer("Flatten", f"{name}_flat", f"{name}_perm", flatten_param="axis: 1")
            heads[head].append(f"{name}_flat")
        fields = " ".join(f"aspect_ratio: {ratio}" for ratio in (2, 3)[:ratios])
        text += layer(
            "PriorBox",
            f"{source}_priorbox",
            f"{source} data",
            prior_box_param=(
                f"min_size: {smallest} max_size: {largest} {fields} flip: true clip: false"
                f" variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2 step: {step} offset: 0.5"
            ),
        )
        heads["priorbox"].append(f"{source}_priorbox")
    for head, axis in (("loc", 1), ("conf", 1), ("priorbox", 2)):
        text += layer("Concat", f"mbox_{head}", " ".join(heads[head]), concat_param=f"axis: {axis}")
    text += layer(
        "Reshape",
        "reshaped",
        "mbox_conf",
        reshape_param=f"shape {{ dim: 0 dim: -1 dim: {classes} }}",
    )
    text += layer("Softmax", "scores", "reshaped", softmax_param="axis: 2") + layer(
        "Flatten", "flat", "scores", flatten_param="axis: 1"
    )
    options = SSD % ("true", 0, 0.45, "top_k: 400", 40, 0.01, "code_type: CENTER_SIZE")
    return text + layer(
        "DetectionOutput",
        "detection_out",
        "mbox_loc flat mbox_priorbox",
        detection_output_param=options.replace("num_classes: 4", f"num_classes: {classes}"),
    )


LARGE = {"googlenet": googlenet, "resnet50": resnet50, "squeezenet": squeezenet, "ssd300": ssd300}
