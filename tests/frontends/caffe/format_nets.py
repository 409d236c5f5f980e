"""Nets in every format of definitions, and with training layers and shared weights."""

from tests.frontends.caffe.definitions import NUMPY, OPENCV, NetCase, conv, input_layers, layer, net

V1 = """name: "older"
input: "data" input_dim: 2 input_dim: 3 input_dim: 12 input_dim: 11
layers {
  name: "conv1" type: CONVOLUTION bottom: "data" top: "conv1" blobs_lr: 1 blobs_lr: 2
  convolution_param { num_output: 6 kernel_size: 3 stride: 2 group: 3 }
}
layers { name: "relu1" type: RELU bottom: "conv1" top: "conv1" }
layers {
  name: "norm1" type: LRN bottom: "conv1" top: "norm1"
  lrn_param { local_size: 3 alpha: 0.1 }
}
layers {
  name: "pool1" type: POOLING bottom: "norm1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 3 stride: 2 }
}
layers {
  name: "fc" type: INNER_PRODUCT bottom: "pool1" top: "fc"
  inner_product_param { num_output: 5 }
}
layers { name: "drop" type: DROPOUT bottom: "fc" top: "fc" dropout_param { dropout_ratio: 0.5 } }
layers { name: "prob" type: SOFTMAX bottom: "fc" top: "prob" }
"""


V1_CURRENT = (
    input_layers(data=(2, 3, 12, 11))
    + conv("conv1", "data", 6, 3, "stride: 2 group: 3")
    + layer("ReLU", "relu1", "conv1", "conv1")
    + layer("LRN", "norm1", "conv1", lrn_param="local_size: 3 alpha: 0.1")
    + layer("Pooling", "pool1", "norm1", pooling_param="kernel_size: 3 stride: 2")
    + layer("InnerProduct", "fc", "pool1", inner_product_param="num_output: 5")
    + layer("Softmax", "prob", "fc")
)


V0 = """name: "oldest"
input: "data" input_dim: 2 input_dim: 3 input_dim: 12 input_dim: 11
layers { layer { name: "pad1" type: "padding" pad: 2 } bottom: "data" top: "pad1" }
layers {
  layer {
    name: "conv1" type: "conv" num_output: 4 kernelsize: 5 stride: 2
    weight_filler { type: "xavier" }
  }
  bottom: "pad1" top: "conv1"
}
layers { layer { name: "relu1" type: "relu" } bottom: "conv1" top: "conv1" }
layers {
  layer { name: "pool1" type: "pool" kernelsize: 3 stride: 2 pool: AVE }
  bottom: "conv1" top: "pool1"
}
layers {
  layer { name: "norm1" type: "lrn" local_size: 3 alpha: 0.2 beta: 0.5 }
  bottom: "pool1" top: "norm1"
}
layers {
  layer { name: "fc" type: "innerproduct" num_output: 5 biasterm: false }
  bottom: "norm1" top: "fc"
}
layers { layer { name: "prob" type: "softmax" } bottom: "fc" top: "prob" }
"""


V0_CURRENT = (
    input_layers(data=(2, 3, 12, 11))
    + conv("conv1", "data", 4, 5, "stride: 2 pad: 2")
    + layer("ReLU", "relu1", "conv1", "conv1")
    + layer("Pooling", "pool1", "conv1", pooling_param="kernel_size: 3 stride: 2 pool: AVE")
    + layer("LRN", "norm1", "pool1", lrn_param="local_size: 3 alpha: 0.2 beta: 0.5")
    + layer("InnerProduct", "fc", "norm1", inner_product_param="num_output: 5 bias_term: false")
    + layer("Softmax", "prob", "fc")
)


BODY = (
    conv("conv1", "data", 6, 3, "pad: 1")
    + layer("ReLU", "relu1", "conv1", "conv1")
    + layer("Pooling", "pool", "conv1", pooling_param="pool: AVE global_pooling: true")
    + layer("InnerProduct", "fc", "pool", inner_product_param="num_output: 4")
)


TRAINING = (
    """name: "training"
layer {
  name: "train" type: "Data" top: "data" top: "label"
  include { phase: TRAIN }
  data_param { source: "t" batch_size: 64 }
}
layer {
  name: "test" type: "MemoryData" top: "data" top: "label"
  include { phase: TEST }
  memory_data_param { batch_size: 2 channels: 3 height: 8 width: 7 }
}
layer { name: "noise" type: "Dropout" bottom: "data" top: "data" exclude { phase: TEST } }
"""
    + BODY
    + layer("SoftmaxWithLoss", "loss", "fc label", "loss prob")
    + layer("Accuracy", "top1", "fc label")
    + layer("Silence", "quiet", "label").replace(' top: "quiet"', "")
)


FORMAT_NETS: dict[str, NetCase] = {
    "v0": NetCase(V0, {"data": (2, 3, 12, 11)}, OPENCV, V0_CURRENT),
    "v1": NetCase(V1, {"data": (2, 3, 12, 11)}, OPENCV, V1_CURRENT),
    "training": NetCase(
        TRAINING,
        {"data": (2, 3, 8, 7)},
        OPENCV,
        input_layers(data=(2, 3, 8, 7)) + BODY + layer("Softmax", "loss", "fc", "prob"),
    ),
    "alone": NetCase(
        input_layers(data=(2, 3, 8, 7)) + BODY + layer("Softmax", "prob", "fc"),
        {"data": (2, 3, 8, 7)},
        single_file=True,
    ),
    "shared": NetCase(
        input_layers(a=(2, 3), b=(2, 3))
        + "".join(
            f'layer {{ name: "fc{n}" type: "InnerProduct" bottom: "{n}" top: "fc{n}" param {{ name:'
            ' "w" } param { name: "v" } inner_product_param { num_output: 4 } }\n'
            for n in "ab"
        ),
        {"a": (2, 3), "b": (2, 3)},
        NUMPY,
    ),
    "split": net(
        layer("Split", "two", "x", "p q"),
        layer("ReLU", "relu", "p", "p"),
        layer("Eltwise", "sum", "p q"),
        layer("Dropout", "drop", "sum", "sum"),
        x=(2, 3, 4, 5),
    ),
}
