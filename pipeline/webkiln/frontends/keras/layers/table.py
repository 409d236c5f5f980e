"""The built-in layers: class name -> handler. A class that is not here is traced, or unsupported."""

from collections.abc import Mapping

from webkiln.frontends.keras.layer import Handler
from webkiln.frontends.keras.layers.activations import elu, leaky_relu, relu, softmax
from webkiln.frontends.keras.layers.conv import conv, depthwise_conv
from webkiln.frontends.keras.layers.linear import dense
from webkiln.frontends.keras.layers.merge import concatenate, merge
from webkiln.frontends.keras.layers.norm import activation, activation_layer, batch_normalization, identity
from webkiln.frontends.keras.layers.pool import global_pool, pool
from webkiln.frontends.keras.layers.recurrent import bidirectional, cell, recurrent, time_distributed
from webkiln.frontends.keras.layers.shape import flatten, permute, reshape, zero_padding

LAYERS: Mapping[str, Handler] = {
    "Dense": dense,
    "Conv1D": conv,
    "Conv2D": conv,
    "Conv3D": conv,
    "DepthwiseConv1D": depthwise_conv,
    "DepthwiseConv2D": depthwise_conv,
    "MaxPooling1D": pool("MaxPool"),
    "MaxPooling2D": pool("MaxPool"),
    "MaxPooling3D": pool("MaxPool"),
    "AveragePooling1D": pool("AvgPool"),
    "AveragePooling2D": pool("AvgPool"),
    "AveragePooling3D": pool("AvgPool"),
    "GlobalMaxPooling1D": global_pool("ReduceMax"),
    "GlobalMaxPooling2D": global_pool("ReduceMax"),
    "GlobalMaxPooling3D": global_pool("ReduceMax"),
    "GlobalAveragePooling1D": global_pool("ReduceMean"),
    "GlobalAveragePooling2D": global_pool("ReduceMean"),
    "GlobalAveragePooling3D": global_pool("ReduceMean"),
    "BatchNormalization": batch_normalization,
    "Activation": activation,
    "ReLU": activation_layer(relu),
    "LeakyReLU": activation_layer(leaky_relu),
    "ELU": activation_layer(elu),
    "Softmax": activation_layer(softmax),
    "Flatten": flatten,
    "Reshape": reshape,
    "Permute": permute,
    "ZeroPadding1D": zero_padding,
    "ZeroPadding2D": zero_padding,
    "ZeroPadding3D": zero_padding,
    "Add": merge("Add"),
    "Subtract": merge("Sub"),
    "Multiply": merge("Mul"),
    "Average": merge("Add", mean=True),
    "Maximum": merge("Max"),
    "Minimum": merge("Min"),
    "Concatenate": concatenate,
    "SimpleRNN": recurrent,
    "LSTM": recurrent,
    "GRU": recurrent,
    "RNN": recurrent,
    "SimpleRNNCell": cell,
    "LSTMCell": cell,
    "GRUCell": cell,
    "StackedRNNCells": cell,
    "Bidirectional": bidirectional,
    "TimeDistributed": time_distributed,
    "Dropout": identity,
    "SpatialDropout1D": identity,
    "SpatialDropout2D": identity,
    "SpatialDropout3D": identity,
    "AlphaDropout": identity,
    "GaussianDropout": identity,
    "GaussianNoise": identity,
    "ActivityRegularization": identity,
    "Identity": identity,
}
