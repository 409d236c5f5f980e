"""The optimisation passes, in order. Each is a module of this package with `run(graph) -> graph`.

The docstring of a pass contains an example graph, before and after; tests run it.
"""

PASSES = (
    "fold_constants",
    "integer_products",
    "sink_transposes",
    "remove_identities",
    "absorb_transposes",
    "absorb_padding",
    "fold_batchnorm",
    "merge_common",
    "remove_unused",
)
