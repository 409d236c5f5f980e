"""Nets of products, normalisation, embeddings and recurrence."""

from tests.frontends.caffe.definitions import (
    NUMPY,
    NetCase,
    X,
    continuation_markers,
    conv,
    input_layers,
    layer,
    net,
    random_integers,
)

ARITHMETIC_NETS: dict[str, NetCase] = {
    "inner_product": net(
        layer("InnerProduct", "a", "x", inner_product_param="num_output: 7"),
        layer(
            "InnerProduct", "b", "x", inner_product_param="num_output: 5 axis: 2 bias_term: false"
        ),
        x=X,
    ),
    "inner_product_turned": net(
        layer("InnerProduct", "c", "x", inner_product_param="num_output: 4 transpose: true"),
        x=X,
        oracle=NUMPY,
    ),
    "batch_norm": net(
        layer("BatchNorm", "bn", "x", "x1"),
        layer("Scale", "scale", "x1", "x1", scale_param="bias_term: true"),
        layer("ReLU", "relu", "x1", "x1"),
        x=X,
    ),
    "batch_norm_of_batch": net(
        layer("BatchNorm", "bn", "x", batch_norm_param="use_global_stats: false eps: 0.01"),
        layer("BatchNorm", "flat", "v", batch_norm_param="eps: 0.1"),
        x=X,
        v=(3, 5),
        oracle=NUMPY,
    ),
    "scale": net(
        layer("Scale", "a", "x", scale_param="axis: 1 num_axes: 2 bias_term: true"),
        layer("Scale", "b", "x", scale_param="axis: 0 num_axes: -1"),
        layer("Scale", "c", "x", scale_param="num_axes: 0 bias_term: true"),
        layer("Scale", "d", "x s", scale_param="axis: 0 bias_term: true"),
        layer("Bias", "e", "x", bias_param="axis: 2 num_axes: 1"),
        layer("Bias", "f", "x s", bias_param="axis: 0"),
        layer("Scale", "g", "x", scale_param="axis: -1"),
        x=X,
        s=(2, 6),
        oracle=NUMPY,
    ),
    "eltwise": net(
        layer("Eltwise", "sum", "x y"),
        layer("Eltwise", "coeff", "x y", eltwise_param="operation: SUM coeff: 1 coeff: -0.5"),
        layer("Eltwise", "prod", "x y", eltwise_param="operation: PROD"),
        layer("Eltwise", "max", "x y sum", eltwise_param="operation: MAX"),
        x=X,
        y=X,
    ),
    "mvn": net(
        layer("MVN", "a", "x"),
        layer("MVN", "b", "x", mvn_param="across_channels: true eps: 0.1"),
        layer("MVN", "c", "x", mvn_param="normalize_variance: false"),
        x=X,
        oracle=NUMPY,
    ),
    "embed": net(
        layer("Embed", "a", "x", embed_param="input_dim: 9 num_output: 4"),
        layer("Embed", "b", "x", embed_param="input_dim: 9 num_output: 3 bias_term: false"),
        x=(5, 2),
        oracle=NUMPY,
        values={"x": random_integers(0, 9, 5, 2)},
    ),
    "parameter": NetCase(
        input_layers(x=(2, 3, 4))
        + layer("Parameter", "w", "", "w", parameter_param="shape { dim: 2 dim: 3 dim: 4 }")
        + layer("Eltwise", "sum", "x w"),
        {"x": (2, 3, 4)},
        NUMPY,
    ),
    "lstm": net(
        layer("LSTM", "a", "x going", recurrent_param="num_output: 5"),
        x=(6, 2, 4),
        going=(6, 2),
        oracle=NUMPY,
        values={"going": continuation_markers(6, 2)},
    ),
    "lstm_static": net(
        layer(
            "LSTM",
            "a",
            "x going same h c",
            "y hn cn",
            recurrent_param="num_output: 3 expose_hidden: true",
        ),
        x=(5, 2, 2, 2),
        going=(5, 2),
        same=(2, 4),
        h=(1, 2, 3),
        c=(1, 2, 3),
        oracle=NUMPY,
        values={"going": continuation_markers(5, 2)},
    ),
    "rnn": net(
        layer("RNN", "a", "x going", recurrent_param="num_output: 4"),
        layer("RNN", "b", "x going same", recurrent_param="num_output: 3"),
        x=(6, 2, 4),
        going=(6, 2),
        same=(2, 3),
        oracle=NUMPY,
        values={"going": continuation_markers(6, 2)},
    ),
    "normalize": net(
        layer("Normalize", "a", "x", norm_param="across_spatial: false channel_shared: false"),
        layer("Normalize", "b", "x", norm_param="across_spatial: true"),
        layer(
            "Normalize", "c", "x", norm_param="across_spatial: false channel_shared: true eps: 0.1"
        ),
        x=X,
        oracle=NUMPY,
    ),
    "squeeze_excite": net(
        layer("Pooling", "pool", "x", pooling_param="pool: AVE global_pooling: true"),
        conv("down", "pool", 3, 1),
        layer("ReLU", "relu", "down", "down"),
        conv("up", "down", 6, 1),
        layer("Sigmoid", "gate", "up"),
        layer("Axpy", "sum", "gate x y"),
        x=X,
        y=X,
        oracle=NUMPY,
    ),
}
