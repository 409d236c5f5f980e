"""Extract the subgraph of a net between given blobs."""

from dataclasses import replace

from webkiln.frontends.caffe.net import CaffeNet, NetInput
from webkiln.frontends.core.subgraph import Subgraph, Vertex, check_names, needed_vertices


def cut_net(net: CaffeNet, cut: Subgraph, name: str) -> CaffeNet:
    """The layers that compute `cut.ends` (blobs or layers) from `cut.starts`, whose shapes must be
    given. Raises RecipeError if a blob would be undefined.
    """
    if not cut:
        return net
    boundaries = {**net.blobs, **{layer.name: layer.tops[0] for layer in net.layers if layer.tops}}
    check_names(name, cut, list(boundaries))
    labels = {tensor: blob for blob, tensor in boundaries.items()}
    starts = [boundaries[item] for item in cut.starts]
    ends = [boundaries[item] for item in cut.ends] or list(net.outputs.values())
    vertices = [Vertex(layer.name, layer.bottoms, layer.tops) for layer in net.layers]
    needed, used = needed_vertices(
        name, vertices, starts, ends, lambda tensor: labels.get(tensor, tensor)
    )
    layers = tuple(layer for number, layer in enumerate(net.layers) if number in needed)
    read = {bottom for layer in layers for bottom in layer.bottoms}
    entering = {
        tensor: NetInput(item, None)
        for item, tensor in zip(cut.starts, starts, strict=True)
        if tensor in used
    }
    inputs = entering or {tensor: item for tensor, item in net.inputs.items() if tensor in read}
    named = zip(cut.ends, ends, strict=True) if cut.ends else net.outputs.items()
    return replace(net, inputs=inputs, layers=layers, outputs=dict(named))
