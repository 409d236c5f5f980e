"""All modules by group of operators. They are built when the tests run, with seeded weights."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.frontends.torch.cases import (
    DATA_DEPENDENT,
    ModuleCase,
    booleans,
    floats,
    integers,
    module_of,
)
from tests.frontends.torch.modules.elements import (
    activations,
    comparisons,
    functions,
    mixed_dtypes,
    reductions,
)
from tests.frontends.torch.modules.images import folds, grid_samples, paddings, pools, resizes
from tests.frontends.torch.modules.layers import (
    Attention,
    Bags,
    Branching,
    Cells,
    Looping,
    Recurrent,
    Residual,
    Tables,
    Training,
    sequential,
)
from tests.frontends.torch.modules.products import (
    attention_products,
    core_operators,
    products,
    spectra,
    spectrogram,
)
from tests.frontends.torch.modules.states import Cache, Counting, Storing, Writing
from tests.frontends.torch.modules.tensors import (
    dynamic,
    equal_selections,
    indices,
    masked_scatter,
    orders,
    scatters,
    selections,
    views,
)

X = (floats(2, 3, 4),)
PAIR = (floats(2, 3, 4), floats(2, 3, 4, seed=1, low=0.1, high=3.0))
IMAGE = (floats(1, 2, 6, 7),)
STEPS = (floats(2, 5, 4),)
TIME = {0: {0: 3, 1: 7}}
BATCH = {0: {0: 3}}
MODULES: dict[str, ModuleCase] = {
    "linear": ModuleCase(
        lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2, bias=False)),
        (floats(2, 4),),
        BATCH,
    ),
    "mixed dtypes": ModuleCase(
        module_of(mixed_dtypes), (floats(2, 3), integers(2, 3, low=-4, high=5), booleans(2, 3))
    ),
    "core operators": ModuleCase(module_of(core_operators), (floats(2, 2, 4, 4),), {0: {0: 3}}),
    "activations": ModuleCase(module_of(activations), (floats(2, 3, 4),)),
    "functions": ModuleCase(module_of(functions), PAIR),
    "comparisons": ModuleCase(module_of(comparisons), PAIR),
    "reductions": ModuleCase(module_of(reductions), X),
    "views": ModuleCase(module_of(views), X),
    "indices": ModuleCase(
        module_of(indices), (floats(3, 3, 4), integers(3, 2, high=3), booleans(3, 3, 4))
    ),
    "scatters": ModuleCase(
        module_of(scatters), (floats(2, 5), integers(2, 3, high=4), floats(2, 3, seed=3))
    ),
    "orders": ModuleCase(module_of(orders), (floats(4, 6),)),
    "products": ModuleCase(module_of(products), (floats(2, 3, 4), floats(2, 4, 3, seed=1))),
    "pools": ModuleCase(module_of(pools), IMAGE),
    "pools of sequences": ModuleCase(
        module_of(
            lambda x: (
                F.max_pool1d(x, 2),
                F.avg_pool1d(x, 3, 1, 1),
                F.adaptive_avg_pool1d(x, 3),
                F.adaptive_max_pool1d(x, 2),
            )
        ),
        (floats(2, 3, 8),),
    ),
    "pools of volumes": ModuleCase(
        module_of(
            lambda x: (F.max_pool3d(x, 2), F.avg_pool3d(x, 2, 1), F.adaptive_avg_pool3d(x, 2))
        ),
        (floats(1, 2, 4, 5, 6),),
    ),
    "dynamic adaptive pool": ModuleCase(
        module_of(lambda x: F.adaptive_avg_pool2d(x, (2, 3))), IMAGE, {0: {2: 9, 3: 8}}
    ),
    "paddings": ModuleCase(module_of(paddings), IMAGE),
    "conv1d": ModuleCase(
        lambda: nn.Sequential(
            nn.Conv1d(2, 4, 3, padding=2, dilation=2),
            nn.ReLU(),
            nn.ConvTranspose1d(4, 2, 3, stride=2, output_padding=1),
        ),
        (floats(2, 2, 8),),
        {0: {0: 1, 2: 11}},
    ),
    "conv2d": ModuleCase(
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, stride=2, padding=1),
            nn.Conv2d(4, 4, (3, 1), groups=4, padding="same"),
            nn.Conv2d(4, 6, 1, groups=2),
        ),
        IMAGE,
        {0: {2: 9}},
    ),
    "conv3d": ModuleCase(
        lambda: nn.Sequential(nn.Conv3d(2, 3, 2), nn.ConvTranspose3d(3, 2, 2, stride=2, groups=1)),
        (floats(1, 2, 3, 4, 5),),
    ),
    "transposed conv": ModuleCase(
        lambda: nn.ConvTranspose2d(
            4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=1
        ),
        (floats(1, 4, 3, 4),),
    ),
    "conv without batch": ModuleCase(
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.MaxPool2d(2)), (floats(2, 6, 7),)
    ),
    "conv paddings": ModuleCase(
        lambda: nn.Sequential(
            nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"),
            nn.Conv2d(3, 2, 3, padding=1, padding_mode="circular"),
            nn.ZeroPad2d(1),
        ),
        IMAGE,
    ),
    "residual": ModuleCase(Residual, (floats(2, 3, 5, 5),), BATCH),
    "batch norms": ModuleCase(
        sequential(nn.Conv1d(4, 3, 2), nn.BatchNorm1d(3)), (floats(2, 4, 5),)
    ),
    "norms": ModuleCase(
        module_of(
            lambda x: (
                F.layer_norm(x, (5,)),
                F.group_norm(x, 2),
                F.instance_norm(x),
                F.normalize(x, dim=1),
                F.rms_norm(x, (5,)),
                F.batch_norm(x, torch.zeros(4), torch.ones(4)),
            )
        ),
        (floats(2, 4, 5),),
    ),
    "batch statistics": ModuleCase(
        lambda: Training(
            nn.Conv1d(4, 3, 2),
            nn.BatchNorm1d(3, momentum=0.3),
            nn.BatchNorm1d(3, affine=False, track_running_stats=False),
        ),
        (floats(2, 4, 5),),
        {0: {0: 4, 2: 3}},
    ),
    "norm layers": ModuleCase(
        lambda: nn.Sequential(
            nn.LayerNorm(6), nn.GroupNorm(2, 4), nn.InstanceNorm1d(4, affine=True), nn.RMSNorm(6)
        ),
        (floats(2, 4, 6),),
        BATCH,
    ),
    "lstm": ModuleCase(lambda: Recurrent(nn.LSTM(4, 5, batch_first=True)), STEPS, BATCH),
    "deep lstm": ModuleCase(
        lambda: Recurrent(nn.LSTM(4, 5, num_layers=2, bidirectional=True)), (floats(5, 2, 4),)
    ),
    "projected lstm": ModuleCase(
        lambda: Recurrent(nn.LSTM(4, 6, num_layers=2, proj_size=3, bias=False)), (floats(5, 2, 4),)
    ),
    "gru": ModuleCase(lambda: Recurrent(nn.GRU(4, 5, bidirectional=True, batch_first=True)), STEPS),
    "rnn": ModuleCase(lambda: Recurrent(nn.RNN(4, 5, num_layers=2, nonlinearity="relu")), STEPS),
    "rnn without batch": ModuleCase(lambda: Recurrent(nn.GRU(4, 5)), (floats(5, 4),)),
    "cells": ModuleCase(Cells, (floats(3, 2, 4),)),
    "attention": ModuleCase(Attention, (floats(2, 5, 8), floats(2, 6, 8, seed=1))),
    "products of attention": ModuleCase(
        module_of(attention_products),
        (floats(1, 2, 5, 4), floats(1, 2, 6, 4, seed=1), booleans(5, 6)),
    ),
    "encoder": ModuleCase(
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu"),
            2,
            enable_nested_tensor=False,
        ),
        (floats(2, 5, 8),),
        {0: {0: 3}},
    ),
    "decoder": ModuleCase(
        lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=True),
        (floats(2, 5, 8), floats(2, 6, 8, seed=1)),
    ),
    "embeddings": ModuleCase(Tables, (integers(3, 4, high=7),), BATCH),
    "sums of bags": ModuleCase(
        lambda: Bags("sum"), (integers(6, high=7), torch.tensor([0, 2, 2, 5]))
    ),
    "maxima of bags": ModuleCase(
        lambda: Bags("max"), (integers(6, high=7), torch.tensor([0, 2, 5]))
    ),
    "written views": ModuleCase(Writing, X),
    "states": ModuleCase(Counting, (floats(2, 3),)),
    "assigned states": ModuleCase(Storing, (floats(3),)),
    "cache": ModuleCase(Cache, (floats(1, 4),)),
    "cond": ModuleCase(Branching, (floats(2, 3),)),
    "while": ModuleCase(Looping, (floats(2, 3),)),
    "nearest": ModuleCase(module_of(resizes("nearest", 2)), IMAGE),
    "nearest-exact": ModuleCase(module_of(resizes("nearest-exact", 2)), IMAGE),
    "bilinear": ModuleCase(module_of(resizes("bilinear", 2, corners=False)), IMAGE),
    "bilinear corners": ModuleCase(module_of(resizes("bilinear", 2, corners=True)), IMAGE),
    "bicubic": ModuleCase(module_of(resizes("bicubic", 2, corners=False)), IMAGE),
    "bicubic corners": ModuleCase(module_of(resizes("bicubic", 2, corners=True)), IMAGE),
    "linear resize": ModuleCase(module_of(resizes("linear", 1, corners=False)), IMAGE),
    "trilinear": ModuleCase(module_of(resizes("trilinear", 3, corners=False)), IMAGE),
    "antialias": ModuleCase(
        module_of(
            lambda x: (
                F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True),
                F.interpolate(x, size=(3, 9), mode="bicubic", antialias=True),
            )
        ),
        IMAGE,
    ),
    "dynamic resize": ModuleCase(
        module_of(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")),
        IMAGE,
        {0: {2: 5, 3: 9}},
    ),
    "grid sample": ModuleCase(
        module_of(grid_samples), (*IMAGE, floats(1, 4, 5, 2, seed=2, low=-1.3, high=1.3))
    ),
    "affine grid": ModuleCase(
        module_of(lambda t: F.affine_grid(t, [2, 1, 3, 4], align_corners=False)), (floats(2, 2, 3),)
    ),
    "spectra": ModuleCase(module_of(spectra), (floats(3, 8),)),
    "spectrogram": ModuleCase(module_of(spectrogram), (floats(1, 40),)),
    "windows": ModuleCase(module_of(folds), IMAGE),
    "selections": ModuleCase(
        module_of(selections), (floats(3, 4), booleans(3, 4)), gpu=DATA_DEPENDENT
    ),
    "equal selections": ModuleCase(
        module_of(equal_selections), (floats(3, 4), booleans(3, 4)), gpu=DATA_DEPENDENT
    ),
    "masked scatter": ModuleCase(module_of(masked_scatter), (floats(2, 3, 4), booleans(2, 3, 4))),
    "sizes": ModuleCase(module_of(dynamic), (floats(2, 5, 4),), TIME),
    "named outputs": ModuleCase(
        module_of(lambda x: {"first": x * 2, "rest": [x + 1, x.sum(0)]}), (floats(2, 3),), BATCH
    ),
    "bits": ModuleCase(
        module_of(lambda a, b: (a & b, a | 3, a ^ b, ~a, a << 2, a >> 1)),
        (integers(3, 4, high=200), integers(3, 4, seed=1, high=99)),
    ),
}
