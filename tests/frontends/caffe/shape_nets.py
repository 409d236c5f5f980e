"""Nets that move, select and reduce elements."""

from tests.frontends.caffe.definitions import NUMPY, NetCase, X, layer, net, random_integers

SHAPE_NETS: dict[str, NetCase] = {
    "concat_slice": net(
        layer("Slice", "thirds", "x", "a b c"),
        layer("Slice", "points", "x", "d e", slice_param="axis: 2 slice_point: 4"),
        layer("Concat", "across", "c a", concat_param="axis: 1"),
        layer("Concat", "down", "e d", concat_param="concat_dim: 2"),
        layer("Power", "rest", "b"),
        x=X,
    ),
    "reshape": net(
        layer("Reshape", "a", "x", reshape_param="shape { dim: 0 dim: -1 dim: 8 }"),
        layer("Reshape", "b", "x", reshape_param="shape { dim: 3 dim: 2 } axis: 1 num_axes: 1"),
        layer("Reshape", "c", "x", reshape_param="shape { dim: -1 } axis: -2"),
        layer("Flatten", "d", "x"),
        layer("Flatten", "e", "x", flatten_param="axis: 1 end_axis: 2"),
        layer("Reshape", "f", "x", reshape_param="shape { dim: 1 } axis: -1 num_axes: 0"),
        x=X,
        oracle=NUMPY,
    ),
    "reduction": net(
        *(
            layer("Reduction", f"r{number}", "x", reduction_param=fields)
            for number, fields in enumerate(
                (
                    "axis: 1",
                    "operation: ASUM axis: 2 coeff: 0.5",
                    "operation: SUMSQ axis: -1",
                    "operation: MEAN axis: 1",
                )
            )
        ),
        x=X,
        oracle=NUMPY,
    ),
    "argmax": net(
        layer("ArgMax", "a", "x"),
        layer("ArgMax", "b", "x", argmax_param="top_k: 3 out_max_val: true"),
        layer("ArgMax", "c", "x", argmax_param="axis: 1 top_k: 2"),
        layer("ArgMax", "d", "x", argmax_param="axis: -1 out_max_val: true"),
        layer("ArgMax", "e", "ties", argmax_param="top_k: 4"),
        x=X,
        ties=(3, 7),
        oracle=NUMPY,
        values={"ties": random_integers(0, 3, 3, 7)},
    ),
    "crop": net(
        layer("Crop", "a", "x like", crop_param="axis: 2 offset: 2"),
        layer("Crop", "b", "x like", crop_param="axis: 1 offset: 1 offset: 0 offset: 3"),
        x=X,
        like=(2, 4, 5, 4),
    ),
    "tile": net(
        layer("Tile", "a", "x", tile_param="tiles: 3"),
        layer("Tile", "b", "x", tile_param="axis: 3 tiles: 2"),
        x=(2, 3, 2, 4),
        oracle=NUMPY,
    ),
    "batch_reindex": net(
        layer("BatchReindex", "a", "x at"),
        x=(4, 3, 2),
        at=(6,),
        oracle=NUMPY,
        values={"at": random_integers(0, 4, 6)},
    ),
    "shuffle_permute": net(
        layer("ShuffleChannel", "a", "x", shuffle_channel_param="group: 3"),
        layer("Permute", "b", "x", permute_param="order: 0 order: 2 order: 3 order: 1"),
        layer("Permute", "c", "x", permute_param="order: 1"),
        x=X,
        oracle=NUMPY,
    ),
}
