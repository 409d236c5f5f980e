"""Cutting a part out of a model: what lies between the outputs of some of its layers or nodes and
those of others.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from webkiln.errors import Item, RecipeError, did_you_mean

SHOWN = 8
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Cut:
    """The names of the layers whose outputs are the inputs, and of those whose outputs are the
    outputs, of what is built of a model; none where the model begins or ends by itself.
    """

    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.starts or self.ends)


WHOLE = Cut()


def cut_of(params: Mapping[str, Any]) -> Cut:
    """The cut that the parameters of a stage say."""
    return Cut(tuple(params.get("from_layers") or ()), tuple(params.get("to_layers") or ()))


@dataclass(frozen=True, slots=True)
class Vertex(Generic[T]):
    """A call of a layer, or a node: its name, and the tensors that it reads and makes."""

    name: str
    reads: tuple[T, ...]
    makes: tuple[T, ...]


def needed_vertices(
    model: str,
    vertices: Sequence[Vertex[T]],
    starts: Sequence[T],
    ends: Sequence[T],
    say: Callable[[T], str],
) -> tuple[set[int], set[T]]:
    """The numbers of the vertices that compute `ends` from `starts`, and those of `starts` that
    they
    read; without starts, all that they need.

    RecipeError where a tensor is needed that is computed past the cut. `say` names a tensor as the
    options do.
    """
    maker = {tensor: number for number, vertex in enumerate(vertices) for tensor in vertex.makes}
    given, needed, read = set(starts), set[int](), set[T]()
    queue = list(ends)
    while queue:
        tensor = queue.pop()
        if tensor in given:
            read.add(tensor)
        elif (number := maker.get(tensor)) is not None and number not in needed:
            needed.add(number)
            queue += vertices[number].reads
    if not needed:
        raise RecipeError(
            f"{model}: there is no layer between {_listed(list(starts), say) or 'its inputs'} and"
            f" {_listed(list(ends), say)}"
        )
    if not starts:
        return needed, read
    met = set(map(say, read | set(ends)))
    if idle := [tensor for tensor in starts if say(tensor) not in met]:
        raise RecipeError(
            f"{model}: nothing that is built reads what {_listed(idle, say)} gives; leave it out of"
            " --from-layer"
        )
    behind = _behind(vertices, given)
    reading = [
        (tensor, vertices[number].name)
        for number in sorted(needed & behind)
        for tensor in vertices[number].reads
        if tensor not in given
        and maker.get(tensor) not in behind
        and _has_inputs(tensor, vertices, maker)
    ]
    if reading:
        past, readers = (
            list(dict.fromkeys(tensor for tensor, _ in reading)),
            list(dict.fromkeys(reader for _, reader in reading)),
        )
        more = " ".join(f"--from-layer {name}" for name in dict.fromkeys(map(say, past)))
        what = (
            f"the cut leaves {_listed(past, say)} undefined, which {', '.join(readers)}"
            f" {'reads' if len(readers) == 1 else 'read'}"
        )
        raise RecipeError(f"{model}: {what} from before it; add {more}")
    if apart := [
        tensor for tensor in ends if tensor not in given and maker.get(tensor) not in behind
    ]:
        before, names = _listed(list(starts), say), _listed(apart, say)
        raise RecipeError(
            f"{model}: the output {names} is not computed from {before}; name the outputs to build"
            " with --to-layer"
        )
    return needed, read


def _behind(vertices: Sequence[Vertex[T]], starts: set[T]) -> set[int]:
    """The vertices that read, one through the other, what the cut begins with."""
    readers: dict[T, list[int]] = {}
    for number, vertex in enumerate(vertices):
        for tensor in vertex.reads:
            readers.setdefault(tensor, []).append(number)
    found: set[int] = set()
    queue = list(starts)
    while queue:
        for number in readers.get(queue.pop(), ()):
            if number not in found:
                found.add(number)
                queue += [tensor for tensor in vertices[number].makes if tensor not in starts]
    return found


def _has_inputs(tensor: T, vertices: Sequence[Vertex[T]], maker: Mapping[T, int]) -> bool:
    """Whether a tensor depends on what the model is given; else it is a constant, which is computed
    wherever it is needed.
    """
    queue, seen = [tensor], set[T]()
    while queue:
        current = queue.pop()
        if current in seen:
            continue
        seen.add(current)
        number = maker.get(current)
        if number is None:
            return True
        queue += vertices[number].reads
    return False


def check_names(
    model: str, cut: Cut, known: Sequence[str], where: Callable[[str], str] = lambda _: ""
) -> None:
    """RecipeError for the first name of a cut that a model does not have; `where` may say more of a
    name.
    """
    for option, name in (
        *(("--from-layer", name) for name in cut.starts),
        *(("--to-layer", name) for name in cut.ends),
    ):
        if name not in known:
            listed = ", ".join(known[:SHOWN]) + (
                f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
            )
            raise RecipeError(
                f"{model}: {option}: there is no {name!r}{did_you_mean(name, known)}{where(name)}; there"
                f" are {listed}"
            )


def _listed(tensors: Sequence[T], say: Callable[[T], str]) -> str:
    return ", ".join(dict.fromkeys(map(say, tensors)))


def with_advice(items: Sequence[Item], vertices: Sequence[Vertex[T]]) -> list[Item]:
    """The items with how to cut off what is unsupported, where it stands at the beginning or at the
    end of the model.
    """
    bad = {where.partition(" (")[0] for where, _, _ in items} & {vertex.name for vertex in vertices}
    makers = {tensor: vertex.name for vertex in vertices for tensor in vertex.makes}
    before: dict[str, set[str]] = {vertex.name: set() for vertex in vertices}
    after: dict[str, set[str]] = {vertex.name: set() for vertex in vertices}
    for vertex in vertices:
        for maker in {
            makers[tensor]
            for tensor in vertex.reads
            if tensor in makers and makers[tensor] != vertex.name
        }:
            before[vertex.name].add(maker)
            after[maker].add(vertex.name)
    advice = {}
    first, last = _ends(bad, before), _ends(bad, after)
    for name in bad:
        if name in first and after[name] - first:
            advice[name] = f"; or build what follows it: --from-layer {name}"
        elif name in last and (kept := sorted(before[name] - last)):
            advice[name] = (
                f"; or build what precedes it: {' '.join(f'--to-layer {other}' for other in kept)}"
            )
    return [
        (
            where,
            what,
            hint if "--from-layer" in hint else hint + advice.get(where.partition(" (")[0], ""),
        )
        for where, what, hint in items
    ]


def _ends(bad: set[str], neighbours: Mapping[str, set[str]]) -> set[str]:
    """Those of the vertices that have, on one side, none but each other."""
    found: set[str] = set()
    while more := {name for name in bad - found if neighbours[name] <= found}:
        found |= more
    return found
