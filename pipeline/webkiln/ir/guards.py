"""Guards: equalities of sizes that are not proven. Those of one placeholder that amount to a
congruence (`H` is a multiple of 32) are solved by rewriting the graph over a new placeholder; the
others are checked when placeholders are set.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import lcm, prod

from webkiln.errors import SizeError
from webkiln.ir import dim
from webkiln.ir.bind import bind
from webkiln.ir.graph import Divisibility, Graph, Guard

MOST = 1024
"""The largest modulus that is searched for."""
SAMPLES = range(4)
"""How many of each residue are tried."""
SHOWN = 2
"""The most remainders that an error lists."""


def solved(graph: Graph, guards: Iterable[Guard]) -> Graph:
    """The graph with guards: its sizes are multiples where all guards of one placeholder say so.
    SizeError where a guard can never hold.
    """
    left = list(dict.fromkeys(guards))
    found: list[Divisibility] = []
    for name in sorted(dim.names(size for guard in left for size in (guard.a, guard.b))):
        about = [guard for guard in left if dim.names([guard.a, guard.b]) == {name}]
        modulus, remainders = _remainders(about, name)
        if not 0 < len(remainders) <= SHOWN:
            continue
        layers = tuple(dict.fromkeys(guard.layer for guard in about))
        if len(remainders) > 1:
            found.append(Divisibility(name, modulus, remainders, "", layers))
            continue
        taken = dim.names(size for variable in graph.variables.values() for size in variable.shape)
        quotient = dim.unit(name, modulus, taken)
        found.append(Divisibility(name, modulus, remainders, str(quotient), layers))
        size = {name: quotient * modulus + found[-1].offset}
        graph = bind(graph, size)
        left = [replace(guard, a=dim.at(guard.a, size), b=dim.at(guard.b, size)) for guard in left]
    kept = [guard for guard in left if guard.a != guard.b]
    for guard in kept:
        if dim.never_zero(guard.a - guard.b):
            a, b = (dim.shown(said(size, found)) for size in (guard.a, guard.b))
            raise SizeError(
                f"{guard.layer}: two sizes that must be equal never are: {a} and {b}",
                (guard.a, guard.b),
            )
    return graph.edit(guards=tuple(kept), divisibility=tuple(found))


def _remainders(guards: Sequence[Guard], name: str) -> tuple[int, tuple[int, ...]]:
    """A modulus, and what is left of the only values of a size for which all guards hold; nothing
    where they do not follow a modulus.
    """
    modulus = lcm(*(_modulus(size) for guard in guards for size in (guard.a, guard.b)))
    if not 1 < modulus <= MOST:
        return modulus, ()
    holds = {
        rest: [_hold(guards, {name: modulus * turn + rest}) for turn in SAMPLES if turn or rest]
        for rest in range(modulus)
    }
    good = [rest for rest, tries in holds.items() if all(tries)]
    if any(any(tries) for rest, tries in holds.items() if rest not in good):
        return modulus, ()
    shorter = (
        step
        for step in range(1, modulus + 1)
        if modulus % step == 0 and all((rest + step) % modulus in good for rest in good)
    )
    step = next(shorter)
    return step, tuple(rest for rest in good if rest < step) if step > 1 else ()


def _hold(guards: Sequence[Guard], values: Mapping[str, int]) -> bool:
    return all(dim.at(guard.a, values) == dim.at(guard.b, values) for guard in guards)


def _modulus(size: int) -> int:
    """After how much of its placeholders the quotients in a size repeat."""
    return (
        lcm(*(_atom_period(atom) for monomial, _ in size.terms for atom in monomial))
        if isinstance(size, dim.Dim)
        else 1
    )


def _atom_period(atom: dim.Atom) -> int:
    if atom.op == "name":
        return 1
    inner = lcm(*map(_modulus, atom.args))
    return (
        inner * atom.args[1] if atom.op == "floordiv" and isinstance(atom.args[1], int) else inner
    )


def said(size: int, divisibility: Sequence[Divisibility]) -> int:
    """A size of the graph in terms of those that the user named."""
    return _said(size, {item.quotient: item for item in divisibility if item.quotient})


def _said(size: int, units: Mapping[str, Divisibility]) -> int:
    if not isinstance(size, dim.Dim):
        return size
    return sum(_said_term(monomial, factor, units) for monomial, factor in size.terms)


def _said_term(monomial: dim.Monomial, factor: int, units: Mapping[str, Divisibility]) -> int:
    parts: list[int] = []
    for atom in monomial:
        if atom.op != "name":
            parts.append(dim.applied(atom.op, *(_said(arg, units) for arg in atom.args)))
        elif (item := units.get(atom.args[0])) is None:
            parts.append(dim.named(atom.args[0]))
        else:
            whole, odd = divmod(factor, item.modulus)
            factor = factor if odd else whole
            size = dim.placeholder(item.name) - item.offset
            parts.append(dim.floordiv(size, item.modulus) if odd else size)
    return factor * prod(parts)
