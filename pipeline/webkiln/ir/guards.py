"""Guards: unproven equalities of sizes.

If the guards of a placeholder are equivalent to a congruence (`H` is a multiple of 32), they are
solved by rewriting the graph over a new symbol, the quotient. The others are checked when the
placeholders are set.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import lcm, prod

from webkiln.ir import dim, symbols
from webkiln.ir.bind import bind
from webkiln.ir.dim import Size
from webkiln.ir.graph import Divisibility, Graph, Guard, SizeConstraints
from webkiln.ir.size_checks import SizeError

MAX_MODULUS = 1024
"""The largest modulus that is searched."""
SAMPLES = range(4)
"""The quotients that are tested for each remainder."""
MAX_REMAINDERS = 2
"""The maximum number of remainders of a divisibility constraint; with more, the guards stay."""


def solve_guards(graph: Graph, guards: Iterable[Guard]) -> Graph:
    """Solve the guards that are congruences, and add the others to the graph.

    Raises SizeError if a guard can never hold.
    """
    left = list(dict.fromkeys(guards))
    divisibility: list[Divisibility] = []
    for name in sorted(symbols.names(size for guard in left for size in (guard.a, guard.b))):
        about = [guard for guard in left if symbols.names([guard.a, guard.b]) == {name}]
        modulus, remainders = _remainders(about, name)
        if not 0 < len(remainders) <= MAX_REMAINDERS:
            continue
        layers = tuple(dict.fromkeys(guard.layer for guard in about))
        if len(remainders) > 1:
            divisibility.append(Divisibility(name, modulus, remainders, "", layers))
            continue
        reserved = symbols.names(
            size for variable in graph.variables.values() for size in variable.shape
        )
        quotient = symbols.quotient(name, modulus, reserved)
        divisibility.append(Divisibility(name, modulus, remainders, str(quotient), layers))
        size = {name: quotient * modulus + divisibility[-1].offset}
        graph = bind(graph, size)
        left = [
            replace(guard, a=symbols.substitute(guard.a, size), b=symbols.substitute(guard.b, size))
            for guard in left
        ]
    unsolved = [guard for guard in left if guard.a != guard.b]
    for guard in unsolved:
        if dim.is_nonzero(guard.a - guard.b):
            a, b = (
                dim.abbreviate(expand_quotients(size, divisibility)) for size in (guard.a, guard.b)
            )
            raise SizeError(
                f"{guard.layer}: two sizes must be equal, but {a} and {b} never are",
                (guard.a, guard.b),
            )
    return graph.edit(constraints=SizeConstraints(tuple(unsolved), tuple(divisibility)))


def _remainders(guards: Sequence[Guard], name: str) -> tuple[int, tuple[int, ...]]:
    """The smallest modulus, and the remainders of exactly those values that satisfy all guards; no
    remainders if the guards are not equivalent to a congruence.
    """
    modulus = lcm(*(_modulus(size) for guard in guards for size in (guard.a, guard.b)))
    if not 1 < modulus <= MAX_MODULUS:
        return modulus, ()
    holds = {
        rest: [
            _hold(guards, {name: modulus * quotient + rest})
            for quotient in SAMPLES
            if quotient or rest
        ]
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


def _hold(guards: Sequence[Guard], values: Mapping[str, Size]) -> bool:
    return all(
        symbols.substitute(guard.a, values) == symbols.substitute(guard.b, values)
        for guard in guards
    )


def _modulus(size: Size) -> int:
    """The period, in each symbol, of the remainders of all quotients in a size."""
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


def expand_quotients(size: Size, divisibility: Sequence[Divisibility]) -> Size:
    """Express a size of the graph in the placeholders of the source model, without quotients."""
    return _expand(size, {item.quotient: item for item in divisibility if item.quotient})


def _expand(size: Size, units: Mapping[str, Divisibility]) -> Size:
    if not isinstance(size, dim.Dim):
        return size
    return sum(_expand_term(monomial, factor, units) for monomial, factor in size.terms)


def _expand_term(monomial: dim.Monomial, factor: int, units: Mapping[str, Divisibility]) -> Size:
    parts: list[Size] = []
    for atom in monomial:
        if atom.op != "name":
            parts.append(dim.apply(atom.op, *(_expand(arg, units) for arg in atom.args)))
        elif (item := units.get(atom.args[0])) is None:
            parts.append(symbols.from_name(atom.args[0]))
        else:
            quotient, remainder = divmod(factor, item.modulus)
            factor = factor if remainder else quotient
            size = symbols.placeholder(item.name) - item.offset
            parts.append(dim.floordiv(size, item.modulus) if remainder else size)
    return factor * prod(parts)
