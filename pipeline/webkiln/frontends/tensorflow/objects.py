"""Find the checkpoint keys of variables from the object graph of a TensorFlow 2 SavedModel.

Restore nodes are not sufficient: a Keras 3 model inside another object has each variable twice in
the graph, and only the one that functions do not read is restored. The captured inputs of functions
are listed as objects, and the checkpoint identifies these by their path from the root.
"""

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import DecodeError

from webkiln.errors import SourceError
from webkiln.frontends.tensorflow.checkpoint import Checkpoint
from webkiln.frontends.tensorflow.messages import TrackableObjects
from webkiln.frontends.tensorflow.scope import CALLS
from webkiln.frontends.tensorflow.source import Body, data_inputs, split_reference

OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"


def captured_keys(graph: Any, main: Body, checkpoint: Checkpoint) -> dict[str, str]:
    """Variable -> its checkpoint key, for variables that the main graph passes to functions."""
    saved = graph.object_graph_def
    calls = [
        (node, saved.concrete_functions[node.attr["f"].func.name].bound_inputs)
        for node in main.nodes.values()
        if node.op in CALLS and node.attr["f"].func.name in saved.concrete_functions
    ]
    if not calls or OBJECTS not in checkpoint.entries:
        return {}
    try:
        stored = TrackableObjects.FromString(checkpoint.read_text(OBJECTS)).nodes
    except DecodeError as error:
        raise SourceError(
            f"{checkpoint.name}: {OBJECTS} cannot be read: {error}; the file is damaged"
        ) from None
    same = _paired(saved.nodes, stored)
    keys_by_variable = {}
    for node, bound in calls:
        inputs = list(data_inputs(node))
        for reference, number in zip(inputs[len(inputs) - len(bound) :], bound, strict=False):
            keys = (
                [item.checkpoint_key for item in stored[same[number]].attributes]
                if number in same
                else []
            )
            if len(keys) == 1:
                keys_by_variable[split_reference(reference)[0]] = keys[0]
    return keys_by_variable


def _paired(saved: Sequence[Any], stored: Sequence[Any]) -> dict[int, int]:
    """Pairs of objects that are reached by the same path in both graphs."""
    pairs: dict[int, int] = {}
    waiting = [(0, 0)] if saved and stored else []
    while waiting:
        one, other = waiting.pop()
        if one in pairs or not (0 <= one < len(saved) and 0 <= other < len(stored)):
            continue
        pairs[one] = other
        names = {item.local_name: item.node_id for item in stored[other].children}
        waiting += [
            (item.node_id, names[item.local_name])
            for item in saved[one].children
            if item.local_name in names
        ]
    return pairs
