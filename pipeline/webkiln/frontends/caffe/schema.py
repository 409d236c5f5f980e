"""The messages of Caffe's files: the fields that inference needs, with the numbers and defaults of
BVLC Caffe's caffe.proto, and those of SSD.

Field numbers of other layers differ between forks, so they are known by name only, for prototxt
files (from `BY_NAME_ONLY` on).
"""

from functools import cache
from typing import Any

from webkiln.frontends.protobuf.messages import message_types

BY_NAME_ONLY = 100_000
PYTHON = "python"
"""The domain of user-defined Python layers."""

V1_TYPES = {
    "NONE": 0,
    "ABSVAL": 35,
    "ACCURACY": 1,
    "ARGMAX": 30,
    "BNLL": 2,
    "CONCAT": 3,
    "CONTRASTIVE_LOSS": 37,
    "CONVOLUTION": 4,
    "DATA": 5,
    "DECONVOLUTION": 39,
    "DROPOUT": 6,
    "DUMMY_DATA": 32,
    "EUCLIDEAN_LOSS": 7,
    "ELTWISE": 25,
    "EXP": 38,
    "FLATTEN": 8,
    "HDF5_DATA": 9,
    "HDF5_OUTPUT": 10,
    "HINGE_LOSS": 28,
    "IM2COL": 11,
    "IMAGE_DATA": 12,
    "INFOGAIN_LOSS": 13,
    "INNER_PRODUCT": 14,
    "LRN": 15,
    "MEMORY_DATA": 29,
    "MULTINOMIAL_LOGISTIC_LOSS": 16,
    "MVN": 34,
    "POOLING": 17,
    "POWER": 26,
    "RELU": 18,
    "SIGMOID": 19,
    "SIGMOID_CROSS_ENTROPY_LOSS": 27,
    "SILENCE": 36,
    "SOFTMAX": 20,
    "SOFTMAX_LOSS": 21,
    "SPLIT": 22,
    "SLICE": 33,
    "TANH": 23,
    "WINDOW_DATA": 24,
    "THRESHOLD": 31,
}

ENUMS = {
    "Phase": "TRAIN = 0; TEST = 1",
    "PoolMethod": "MAX = 0; AVE = 1; STOCHASTIC = 2",
    "RoundMode": "CEIL = 0; FLOOR = 1",
    "EltwiseOp": "PROD = 0; SUM = 1; MAX = 2",
    "NormRegion": "ACROSS_CHANNELS = 0; WITHIN_CHANNEL = 1",
    "ReductionOp": "SUM = 1; ASUM = 2; SUMSQ = 3; MEAN = 4",
    "CodeType": "CORNER = 1; CENTER_SIZE = 2; CORNER_SIZE = 3",
    "Engine": "DEFAULT = 0; CAFFE = 1; CUDNN = 2",
    "VarianceNorm": "FAN_IN = 0; FAN_OUT = 1; AVERAGE = 2",
    "DimCheckMode": "STRICT = 0; PERMISSIVE = 1",
    "Normalization": "FULL = 0; VALID = 1; BATCH_SIZE = 2; NONE = 3",
    "Norm": "L1 = 1; L2 = 2",
    "Backend": "LEVELDB = 0; LMDB = 1",
    "LayerType": "; ".join(f"{name} = {number}" for name, number in V1_TYPES.items()),
}

PARAMETERS = {
    "TransformationParameter": (
        "1 scale float = 1; 2 mirror bool; 3 crop_size uint32; 4 mean_file string; 5 mean_value"
        " float*; 6 force_color bool; 7 force_gray bool"
    ),
    "LossParameter": "1 ignore_label int32; 2 normalize bool; 3 normalization Normalization",
    "AccuracyParameter": "1 top_k uint32; 2 axis int32; 3 ignore_label int32",
    "ArgMaxParameter": "1 out_max_val bool = false; 2 top_k uint32 = 1; 3 axis int32",
    "BatchNormParameter": (
        "1 use_global_stats bool; 2 moving_average_fraction float; 3 eps float = 1e-5"
    ),
    "BiasParameter": "1 axis int32 = 1; 2 num_axes int32 = 1; 3 filler FillerParameter",
    "ClipParameter": "1 min float; 2 max float",
    "ConcatParameter": "1 concat_dim uint32; 2 axis int32 = 1",
    "ContrastiveLossParameter": "1 margin float; 2 legacy_version bool",
    "ConvolutionParameter": (
        "1 num_output uint32; 2 bias_term bool = true; 3 pad uint32*; 4 kernel_size uint32*; 5"
        " group uint32 = 1; 6 stride uint32*; 7 weight_filler FillerParameter; 8 bias_filler"
        " FillerParameter; 9 pad_h uint32; 10 pad_w uint32; 11 kernel_h uint32; 12 kernel_w uint32;"
        " 13 stride_h uint32; 14 stride_w uint32; 15 engine Engine; 16 axis int32 = 1; 17"
        " force_nd_im2col bool; 18 dilation uint32*"
    ),
    "CropParameter": "1 axis int32 = 2; 2 offset uint32*",
    "DataParameter": (
        "1 source string; 2 scale float; 3 mean_file string; 4 batch_size uint32; 5 crop_size"
        " uint32; 6 mirror bool; 7 rand_skip uint32; 8 backend Backend; 9 force_encoded_color bool;"
        " 10 prefetch uint32"
    ),
    "DropoutParameter": "1 dropout_ratio float",
    "DummyDataParameter": (
        "1 data_filler FillerParameter*; 2 num uint32*; 3 channels uint32*; 4 height uint32*; 5"
        " width uint32*; 6 shape BlobShape*"
    ),
    "EltwiseParameter": "1 operation EltwiseOp = SUM; 2 coeff float*; 3 stable_prod_grad bool",
    "ELUParameter": "1 alpha float = 1",
    "EmbedParameter": (
        "1 num_output uint32; 2 input_dim uint32; 3 bias_term bool = true; 4 weight_filler"
        " FillerParameter; 5 bias_filler FillerParameter"
    ),
    "ExpParameter": "1 base float = -1; 2 scale float = 1; 3 shift float = 0",
    "FlattenParameter": "1 axis int32 = 1; 2 end_axis int32 = -1",
    "HDF5DataParameter": "1 source string; 2 batch_size uint32; 3 shuffle bool",
    "HDF5OutputParameter": "1 file_name string",
    "HingeLossParameter": "1 norm Norm",
    "ImageDataParameter": (
        "1 source string; 2 scale float; 3 mean_file string; 4 batch_size uint32 = 1; 5 crop_size"
        " uint32; 6 mirror bool; 7 rand_skip uint32; 8 shuffle bool; 9 new_height uint32; 10"
        " new_width uint32; 11 is_color bool = true; 12 root_folder string"
    ),
    "InfogainLossParameter": "1 source string; 2 axis int32",
    "InnerProductParameter": (
        "1 num_output uint32; 2 bias_term bool = true; 3 weight_filler FillerParameter; 4"
        " bias_filler FillerParameter; 5 axis int32 = 1; 6 transpose bool = false"
    ),
    "InputParameter": "1 shape BlobShape*",
    "LogParameter": "1 base float = -1; 2 scale float = 1; 3 shift float = 0",
    "LRNParameter": (
        "1 local_size uint32 = 5; 2 alpha float = 1; 3 beta float = 0.75; 4 norm_region NormRegion"
        " = ACROSS_CHANNELS; 5 k float = 1; 6 engine Engine"
    ),
    "MemoryDataParameter": (
        "1 batch_size uint32; 2 channels uint32; 3 height uint32; 4 width uint32"
    ),
    "MVNParameter": (
        "1 normalize_variance bool = true; 2 across_channels bool = false; 3 eps float = 1e-9"
    ),
    "ParameterParameter": "1 shape BlobShape",
    "PoolingParameter": (
        "1 pool PoolMethod = MAX; 2 kernel_size uint32; 3 stride uint32 = 1; 4 pad uint32 = 0; 5"
        " kernel_h uint32; 6 kernel_w uint32; 7 stride_h uint32; 8 stride_w uint32; 9 pad_h uint32;"
        " 10 pad_w uint32; 11 engine Engine; 12 global_pooling bool = false; 13 round_mode"
        " RoundMode = CEIL; 100001 ceil_mode bool = true"
    ),
    "PowerParameter": "1 power float = 1; 2 scale float = 1; 3 shift float = 0",
    "PReLUParameter": "1 filler FillerParameter; 2 channel_shared bool = false",
    "PythonParameter": (
        "1 module string; 2 layer string; 3 param_str string; 4 share_in_parallel bool"
    ),
    "RecurrentParameter": (
        "1 num_output uint32 = 0; 2 weight_filler FillerParameter; 3 bias_filler FillerParameter; 4"
        " debug_info bool; 5 expose_hidden bool = false"
    ),
    "ReductionParameter": "1 operation ReductionOp = SUM; 2 axis int32 = 0; 3 coeff float = 1",
    "ReLUParameter": "1 negative_slope float = 0; 2 engine Engine",
    "ReshapeParameter": "1 shape BlobShape; 2 axis int32 = 0; 3 num_axes int32 = -1",
    "ScaleParameter": (
        "1 axis int32 = 1; 2 num_axes int32 = 1; 3 filler FillerParameter; 4 bias_term bool ="
        " false; 5 bias_filler FillerParameter"
    ),
    "SigmoidParameter": "1 engine Engine",
    "SliceParameter": "1 slice_dim uint32; 2 slice_point uint32*; 3 axis int32 = 1",
    "SoftmaxParameter": "1 engine Engine; 2 axis int32 = 1",
    "SPPParameter": "1 pyramid_height uint32; 2 pool PoolMethod = MAX; 6 engine Engine",
    "SwishParameter": "1 beta float = 1",
    "TanHParameter": "1 engine Engine",
    "ThresholdParameter": "1 threshold float = 0",
    "TileParameter": "1 axis int32 = 1; 2 tiles int32",
    "WindowDataParameter": (
        "1 source string; 2 scale float; 3 mean_file string; 4 batch_size uint32; 5 crop_size"
        " uint32; 6 mirror bool; 7 fg_threshold float; 8 bg_threshold float; 9 fg_fraction float;"
        " 10 context_pad uint32; 11 crop_mode string; 12 cache_images bool; 13 root_folder string"
    ),
    "PermuteParameter": "1 order uint32*",
    "PriorBoxParameter": (
        "1 min_size float*; 2 max_size float*; 3 aspect_ratio float*; 4 flip bool = true; 5 clip"
        " bool = false; 6 variance float*; 7 img_size uint32; 8 img_h uint32; 9 img_w uint32; 10"
        " step float; 11 step_h float; 12 step_w float; 13 offset float = 0.5"
    ),
    "DetectionOutputParameter": (
        "1 num_classes uint32; 2 share_location bool = true; 3 background_label_id int32 = 0; 4"
        " nms_param NonMaximumSuppressionParameter; 5 save_output_param SaveOutputParameter; 6"
        " code_type CodeType = CORNER; 7 keep_top_k int32 = -1; 8 variance_encoded_in_target bool ="
        " false; 9 confidence_threshold float; 10 visualize bool; 11 visualize_threshold float; 12"
        " save_file string"
    ),
    "NonMaximumSuppressionParameter": "1 nms_threshold float = 0.3; 2 top_k int32; 3 eta float = 1",
    "SaveOutputParameter": (
        "1 output_directory string; 2 output_name_prefix string; 3 output_format string; 4"
        " label_map_file string; 5 name_size_file string; 6 num_test_image uint32"
    ),
    "NormalizeParameter": (
        "1 across_spatial bool = true; 2 scale_filler FillerParameter; 3 channel_shared bool ="
        " true; 4 eps float = 1e-10"
    ),
    "InterpParameter": (
        "1 height int32 = 0; 2 width int32 = 0; 3 zoom_factor int32 = 1; 4 shrink_factor int32 = 1;"
        " 5 pad_beg int32 = 0; 6 pad_end int32 = 0"
    ),
    "UpsampleParameter": (
        "1 scale int32 = 2; 2 scale_h int32; 3 scale_w int32; 4 pad_out_h bool = false; 5 pad_out_w"
        " bool = false; 6 upsample_h int32; 7 upsample_w int32"
    ),
    "ShuffleChannelParameter": "1 group uint32 = 1",
    "ReLU6Parameter": "1 negative_slope float = 0",
}

LAYER_PARAMETERS = {
    100: "transform",
    101: "loss",
    102: "accuracy",
    103: "argmax",
    104: "concat",
    105: "contrastive_loss",
    106: "convolution",
    107: "data",
    108: "dropout",
    109: "dummy_data",
    110: "eltwise",
    111: "exp",
    112: "hdf5_data",
    113: "hdf5_output",
    114: "hinge_loss",
    115: "image_data",
    116: "infogain_loss",
    117: "inner_product",
    118: "lrn",
    119: "memory_data",
    120: "mvn",
    121: "pooling",
    122: "power",
    123: "relu",
    124: "sigmoid",
    125: "softmax",
    126: "slice",
    127: "tanh",
    128: "threshold",
    129: "window_data",
    130: "python",
    131: "prelu",
    132: "spp",
    133: "reshape",
    134: "log",
    135: "flatten",
    136: "reduction",
    137: "embed",
    138: "tile",
    139: "batch_norm",
    140: "elu",
    141: "bias",
    142: "scale",
    143: "input",
    144: "crop",
    145: "parameter",
    146: "recurrent",
    147: "swish",
    148: "clip",
    202: "permute",
    203: "prior_box",
    204: "detection_output",
    206: "norm",
    BY_NAME_ONLY: "interp",
    BY_NAME_ONLY + 1: "upsample",
    BY_NAME_ONLY + 2: "shuffle_channel",
    BY_NAME_ONLY + 3: "relu6",
}
"""Field number of LayerParameter -> layer type of its `<name>_param`."""

V1_LAYER_PARAMETERS = {
    9: "concat",
    10: "convolution",
    11: "data",
    12: "dropout",
    13: "hdf5_data",
    14: "hdf5_output",
    15: "image_data",
    16: "infogain_loss",
    17: "inner_product",
    18: "lrn",
    19: "pooling",
    20: "window_data",
    21: "power",
    22: "memory_data",
    23: "argmax",
    24: "eltwise",
    25: "threshold",
    26: "dummy_data",
    27: "accuracy",
    29: "hinge_loss",
    30: "relu",
    31: "slice",
    34: "mvn",
    36: "transform",
    37: "tanh",
    38: "sigmoid",
    39: "softmax",
    40: "contrastive_loss",
    41: "exp",
    42: "loss",
}

MESSAGE_OF = {
    "transform": "TransformationParameter",
    "argmax": "ArgMaxParameter",
    "lrn": "LRNParameter",
    "mvn": "MVNParameter",
    "relu": "ReLUParameter",
    "relu6": "ReLU6Parameter",
    "prelu": "PReLUParameter",
    "elu": "ELUParameter",
    "spp": "SPPParameter",
    "tanh": "TanHParameter",
    "hdf5_data": "HDF5DataParameter",
    "hdf5_output": "HDF5OutputParameter",
    "norm": "NormalizeParameter",
}
"""Messages whose names differ from those of their parameters."""


def _message_of(name: str) -> str:
    return MESSAGE_OF.get(name) or f"{name.title().replace('_', '')}Parameter"


def _fields(parameters: dict[int, str]) -> str:
    return "; ".join(
        f"{number} {name}_param {_message_of(name)}" for number, name in parameters.items()
    )


MESSAGES = {
    "BlobShape": "1 dim int64**",
    "BlobProto": (
        "1 num int32; 2 channels int32; 3 height int32; 4 width int32; 5 data float**; 6 diff"
        " float**; 7 shape BlobShape; 8 double_data double**; 9 double_diff double**"
    ),
    "FillerParameter": (
        "1 type string; 2 value float; 3 min float; 4 max float; 5 mean float; 6 std float; 7"
        " sparse int32; 8 variance_norm VarianceNorm"
    ),
    "NetState": "1 phase Phase = TEST; 2 level int32 = 0; 3 stage string*",
    "NetStateRule": (
        "1 phase Phase; 2 min_level int32; 3 max_level int32; 4 stage string*; 5 not_stage string*"
    ),
    "ParamSpec": "1 name string; 2 share_mode DimCheckMode; 3 lr_mult float; 4 decay_mult float",
    "NetParameter": (
        "1 name string; 2 layers V1LayerParameter*; 3 input string*; 4 input_dim int32*; 5"
        " force_backward bool; 6 state NetState; 7 debug_info bool; 8 input_shape BlobShape*; 100"
        " layer LayerParameter*"
    ),
    "LayerParameter": (
        "1 name string; 2 type string; 3 bottom string*; 4 top string*; 5 loss_weight float*; 6"
        " param ParamSpec*; 7 blobs BlobProto*; 8 include NetStateRule*; 9 exclude NetStateRule*;"
        " 10 phase Phase; 11 propagate_down bool*; " + _fields(LAYER_PARAMETERS)
    ),
    "V1LayerParameter": (
        "1 layer V0LayerParameter; 2 bottom string*; 3 top string*; 4 name string; 5 type"
        " LayerType; 6 blobs BlobProto*; 7 blobs_lr float*; 8 weight_decay float*; 32 include"
        " NetStateRule*; 33 exclude NetStateRule*; 35 loss_weight float*; 1001 param string*; 1002"
        " blob_share_mode DimCheckMode*; " + _fields(V1_LAYER_PARAMETERS)
    ),
    "V0LayerParameter": (
        "1 name string; 2 type string; 3 num_output uint32; 4 biasterm bool; 5 weight_filler"
        " FillerParameter; 6 bias_filler FillerParameter; 7 pad uint32; 8 kernelsize uint32; 9"
        " group uint32; 10 stride uint32; 11 pool PoolMethod; 12 dropout_ratio float; 13 local_size"
        " uint32; 14 alpha float; 15 beta float; 16 source string; 17 scale float; 18 meanfile"
        " string; 19 batchsize uint32; 20 cropsize uint32; 21 mirror bool; 22 k float; 50 blobs"
        " BlobProto*; 51 blobs_lr float*; 52 weight_decay float*; 53 rand_skip uint32; 54"
        " det_fg_threshold float; 55 det_bg_threshold float; 56 det_fg_fraction float; 58"
        " det_context_pad uint32; 59 det_crop_mode string; 60 new_num int32; 61 new_channels int32;"
        " 62 new_height int32; 63 new_width int32; 64 shuffle_images bool; 65 concat_dim uint32;"
        " 1001 hdf5_output_param HDF5OutputParameter"
    ),
    **PARAMETERS,
}


@cache
def messages() -> dict[str, Any]:
    """The message classes, by name."""
    return message_types("webkiln.caffe", ENUMS, MESSAGES)
