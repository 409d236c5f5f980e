"""The names of keras.ops operations by their number of operands, and models of one operation."""

import keras

UNARY = (
    "abs absolute negative sign floor ceil round square relu relu6 sigmoid softplus softsign silu"
    " selu elu celu leaky_relu gelu hard_sigmoid hard_silu hard_tanh log_sigmoid tanh_shrink"
    " squareplus softmax log_softmax exp expm1 exp2 sin cos cosh tanh erf reciprocal ravel"
    " transpose squeeze sum mean max min prod amax amin argmax argmin var std any all glu"
    " hard_shrink soft_shrink sparse_plus sparse_sigmoid logsumexp copy stop_gradient isnan"
    " zeros_like ones_like flip"
).split()
POSITIVE = "sqrt rsqrt log log1p log2 log10".split()
BINARY = (
    "add subtract multiply divide true_divide maximum minimum power mod floor_divide divide_no_nan "
    "equal not_equal less less_equal greater greater_equal"
).split()
LOGICAL = "logical_and logical_or logical_xor".split()


def build(function, *, batch=None):
    x, y = (keras.Input((3, 4), batch_size=batch, name=name) for name in "xy")
    return keras.Model([x, y], [function(x, y), y])
