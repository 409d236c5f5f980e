"""Selection of a subgraph of a model, between the outputs of some layers or nodes and the outputs
of others.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from webkiln.errors import Item, RecipeError, did_you_mean

SHOWN = 8
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The bounds of the subgraph to build, as names of layers or nodes. The outputs of `starts`
    become the inputs, those of `ends` the outputs. An empty tuple means the inputs or outputs of
    the model.
    """

    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.starts or self.ends)


ENTIRE_MODEL = Subgraph()


def subgraph_from_params(params: Mapping[str, Any]) -> Subgraph:
    """The subgraph that the parameters of a stage select."""
    return Subgraph(tuple(params.get("from_layers") or ()), tuple(params.get("to_layers") or ()))


@dataclass(frozen=True, slots=True)
class Vertex(Generic[T]):
    """A layer call or a node: its name, and the tensors that it reads and writes."""

    name: str
    reads: tuple[T, ...]
    writes: tuple[T, ...]


def needed_vertices(
    model: str,
    vertices: Sequence[Vertex[T]],
    starts: Sequence[T],
    ends: Sequence[T],
    label: Callable[[T], str],
) -> tuple[set[int], set[T]]:
    """The indices of the vertices that compute `ends` from `starts`, and the members of `starts`
    that they read. Without `starts`, everything that `ends` depend on.

    `label` maps a tensor to its name in the options. Raise RecipeError if a tensor is needed that
    is computed outside the subgraph, if a start is not used, or if an end does not depend on the
    starts.
    """
    producers = {
        tensor: number for number, vertex in enumerate(vertices) for tensor in vertex.writes
    }
    entries = set(starts)
    needed, entries_read = _upstream(vertices, producers, entries, ends)
    if not needed:
        raise RecipeError(
            f"{model}: there is no layer between {_listed(list(starts), label) or 'its inputs'} and"
            f" {_listed(list(ends), label)}"
        )
    if not starts:
        return needed, entries_read
    used_labels = set(map(label, entries_read | set(ends)))
    if unused := [tensor for tensor in starts if label(tensor) not in used_labels]:
        raise RecipeError(
            f"{model}: no layer of the subgraph reads the output of {_listed(unused, label)};"
            " remove it from --from-layer"
        )
    downstream = _downstream(vertices, entries)
    undefined = [
        (tensor, vertices[number].name)
        for number in sorted(needed & downstream)
        for tensor in vertices[number].reads
        if tensor not in entries
        and producers.get(tensor) not in downstream
        and _has_inputs(tensor, vertices, producers)
    ]
    if undefined:
        raise RecipeError(f"{model}: {_undefined_text(undefined, label)}")
    if independent := [
        tensor
        for tensor in ends
        if tensor not in entries and producers.get(tensor) not in downstream
    ]:
        start_names, end_names = _listed(list(starts), label), _listed(independent, label)
        raise RecipeError(
            f"{model}: the output {end_names} is not computed from {start_names}; name the outputs"
            " to build with --to-layer"
        )
    return needed, entries_read


def _upstream(
    vertices: Sequence[Vertex[T]],
    producers: Mapping[T, int],
    starts: Collection[T],
    ends: Sequence[T],
) -> tuple[set[int], set[T]]:
    """The indices of the vertices that `ends` depend on, up to `starts`, and the members of
    `starts` that they read.
    """
    upstream, starts_read = set[int](), set[T]()
    queue = list(ends)
    while queue:
        tensor = queue.pop()
        if tensor in starts:
            starts_read.add(tensor)
        elif (number := producers.get(tensor)) is not None and number not in upstream:
            upstream.add(number)
            queue += vertices[number].reads
    return upstream, starts_read


def _undefined_text(undefined: Sequence[tuple[T, str]], label: Callable[[T], str]) -> str:
    """The message for tensors from outside of a subgraph, each with the vertex that reads it."""
    tensors = list(dict.fromkeys(tensor for tensor, _ in undefined))
    readers = list(dict.fromkeys(reader for _, reader in undefined))
    options = " ".join(f"--from-layer {name}" for name in dict.fromkeys(map(label, tensors)))
    return (
        f"the subgraph leaves {_listed(tensors, label)} undefined, which {', '.join(readers)}"
        f" {'reads' if len(readers) == 1 else 'read'} from outside it; add {options}"
    )


def _downstream(vertices: Sequence[Vertex[T]], starts: set[T]) -> set[int]:
    """The indices of the vertices that depend on `starts`."""
    readers: dict[T, list[int]] = {}
    for number, vertex in enumerate(vertices):
        for tensor in vertex.reads:
            readers.setdefault(tensor, []).append(number)
    downstream: set[int] = set()
    queue = list(starts)
    while queue:
        for number in readers.get(queue.pop(), ()):
            if number not in downstream:
                downstream.add(number)
                queue += [tensor for tensor in vertices[number].writes if tensor not in starts]
    return downstream


def _has_inputs(tensor: T, vertices: Sequence[Vertex[T]], producers: Mapping[T, int]) -> bool:
    """Whether a tensor depends on an input of the model. Otherwise it is a constant, which is
    computed wherever it is needed.
    """
    queue, visited = [tensor], set[T]()
    while queue:
        current = queue.pop()
        if current in visited:
            continue
        visited.add(current)
        number = producers.get(current)
        if number is None:
            return True
        queue += vertices[number].reads
    return False


def check_names(
    model: str,
    subgraph: Subgraph,
    known: Sequence[str],
    remark: Callable[[str], str] = lambda _: "",
) -> None:
    """Raise RecipeError for the first name of a subgraph that the model does not have. `where` may
    return a remark about a name.
    """
    for option, name in (
        *(("--from-layer", name) for name in subgraph.starts),
        *(("--to-layer", name) for name in subgraph.ends),
    ):
        if name not in known:
            listed = ", ".join(known[:SHOWN]) + (
                f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
            )
            raise RecipeError(
                f"{model}: {option}: there is no {name!r}{did_you_mean(name, known)}{remark(name)};"
                f" there are {listed}"
            )


def _listed(tensors: Sequence[T], label: Callable[[T], str]) -> str:
    return ", ".join(dict.fromkeys(map(label, tensors)))


def add_subgraph_hints(items: Sequence[Item], vertices: Sequence[Vertex[T]]) -> list[Item]:
    """Extend the hints of unsupported items: if they are at the start or end of the model, name the
    options that exclude them.
    """
    unsupported = {where.partition(" (")[0] for where, _, _ in items} & {
        vertex.name for vertex in vertices
    }
    producers = {tensor: vertex.name for vertex in vertices for tensor in vertex.writes}
    before: dict[str, set[str]] = {vertex.name: set() for vertex in vertices}
    after: dict[str, set[str]] = {vertex.name: set() for vertex in vertices}
    for vertex in vertices:
        for producer in {
            producers[tensor]
            for tensor in vertex.reads
            if tensor in producers and producers[tensor] != vertex.name
        }:
            before[vertex.name].add(producer)
            after[producer].add(vertex.name)
    advice = {}
    first, last = _ends(unsupported, before), _ends(unsupported, after)
    for name in unsupported:
        if name in first and after[name] - first:
            advice[name] = f"; or build what follows it: --from-layer {name}"
        elif name in last and (ends := sorted(before[name] - last)):
            advice[name] = (
                f"; or build what precedes it: {' '.join(f'--to-layer {other}' for other in ends)}"
            )
    return [
        (
            where,
            what,
            hint if "--from-layer" in hint else hint + advice.get(where.partition(" (")[0], ""),
        )
        for where, what, hint in items
    ]


def _ends(unsupported: set[str], neighbours: Mapping[str, set[str]]) -> set[str]:
    """The unsupported vertices whose neighbours on one side are all unsupported, too."""
    ends: set[str] = set()
    while added := {name for name in unsupported - ends if neighbours[name] <= ends}:
        ends |= added
    return ends
