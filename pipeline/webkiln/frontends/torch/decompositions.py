"""Decomposition of exported programs to the supported operators."""

from weakref import WeakKeyDictionary

import torch

from webkiln.frontends.torch.randomness import formulas
from webkiln.frontends.torch.recurrences import kept_recurrences

RETAINED = (
    "lstm.input",
    "gru.input",
    "rnn_tanh.input",
    "rnn_relu.input",
    "linear.default",
    "matmul.default",
    "einsum.default",
    "instance_norm.default",
    "scaled_dot_product_attention.default",
    "upsample_nearest1d.vec",
    "upsample_nearest2d.vec",
    "upsample_nearest3d.vec",
    "_upsample_nearest_exact1d.vec",
    "_upsample_nearest_exact2d.vec",
    "_upsample_nearest_exact3d.vec",
    "upsample_linear1d.vec",
    "upsample_bilinear2d.vec",
    "upsample_trilinear3d.vec",
    "upsample_bicubic2d.vec",
    "_upsample_bilinear2d_aa.vec",
    "_upsample_bicubic2d_aa.vec",
    "pad.default",
    "im2col.default",
    "affine_grid_generator.default",
    "adaptive_max_pool1d.default",
    "adaptive_max_pool2d.default",
    "adaptive_max_pool3d.default",
    "adaptive_avg_pool1d.default",
    "pixel_shuffle.default",
    "pixel_unshuffle.default",
    "roll.default",
    "cosine_similarity.default",
    "conv1d.padding",
    "conv2d.padding",
    "conv3d.padding",
    "hardsigmoid.default",
    "hardswish.default",
    "mish.default",
    "silu.default",
    "softplus.default",
    "celu.default",
    "selu.default",
    "log_sigmoid_forward.default",
    "rms_norm.default",
    "bilinear.default",
    "lstm_cell.default",
    "gru_cell.default",
    "rnn_tanh_cell.default",
    "tril.default",
    "triu.default",
    "unfold.default",
    "linspace.default",
    "median.dim",
    "median.default",
    "one_hot.default",
    "tensordot.default",
    "searchsorted.Tensor",
    "bucketize.Tensor",
    "index_add.default",
    "index_copy.default",
    "channel_shuffle.default",
    "nan_to_num.default",
    "log_softmax.int",
    "softmax.int",
    "logsumexp.default",
    "embedding_bag.padding_idx",
    "std.correction",
    "var_mean.correction",
    "repeat_interleave.self_int",
    "take_along_dim.default",
    "atan2.default",
    "hypot.default",
    "lerp.Scalar",
    "lerp.Tensor",
    "xlogy.Tensor",
)
"""Operators that are converted directly and not decomposed."""
_DECOMPOSED: WeakKeyDictionary[torch.export.ExportedProgram, torch.export.ExportedProgram] = (
    WeakKeyDictionary()
)


def decomposed(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program with functional operators only, in core ATen plus RETAINED. The result is cached
    per program, since torch takes half a second even for a single operator.
    """
    result = _DECOMPOSED.get(program)
    if result is None:
        table = torch.export.default_decompositions()
        for name in RETAINED:
            packet, _, overload = name.partition(".")
            table.pop(getattr(getattr(torch.ops.aten, packet, None), overload, None), None)
        for operator, formula in formulas().items():
            table[operator] = formula
        with kept_recurrences():
            result = _DECOMPOSED[program] = program.run_decompositions(table)
    return result
