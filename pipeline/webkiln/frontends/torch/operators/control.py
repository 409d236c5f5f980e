"""Branches and loops, numbers computed from data, and assertions about sizes."""

from webkiln.frontends.nodes.call import SizeRelation
from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.ir.dim import maximum
from webkiln.ir.graph import Guard
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import reshaped

OPS = {
    "sym_add": "Add",
    "sym_sub": "Sub",
    "sym_mul": "Mul",
    "sym_floordiv": "FloorDiv",
    "sym_mod": "Mod",
    "sym_max": "Max",
    "sym_min": "Min",
    "sym_eq": "Equal",
    "sym_ne": "NotEqual",
    "sym_lt": "Less",
    "sym_gt": "Greater",
    "sym_le": "LessEqual",
    "sym_ge": "GreaterEqual",
    "sym_and": "And",
    "sym_or": "Or",
    "sym_truediv": "Div",
}


def arithmetic(name: str) -> AtenHandler:
    """Arithmetic on numbers that are only known at run time."""

    def handler(c: AtenCall) -> Tensor:
        a, b = c.promoted("a", "b")
        if name == "sym_truediv":
            a, b = c.cast(a, "float32"), c.cast(b, "float32")
        return c.op(OPS[name], a, b)

    return handler


def number(c: AtenCall) -> Tensor:
    x = c.tensor()
    return reshaped(c.b, x, ())


def cast_number(dtype: str) -> AtenHandler:
    return lambda c: c.cast(reshaped(c.b, c.tensor("a"), ()), dtype)


def asserted(c: AtenCall) -> list[Tensor]:
    """Assertions about sizes become guards. Assertions about data are ignored."""
    condition = c.operand("self")
    if (
        condition.is_constant
        and condition.value is not None
        and not bool(condition.value.reshape(()))
    ):
        raise c.error(f"an assertion of the program fails: {c['assert_msg']}")
    if condition.conditions is not None:
        c.b.require(guard(c.call.spec.name, item) for item in condition.conditions)
    return []


def guard(name: str, relation: SizeRelation) -> Guard:
    return Guard(
        name,
        relation.a if relation.relation == "=" else maximum([relation.a + 1, relation.b]),
        relation.b,
    )


NUMBERS: dict[str, AtenHandler] = {
    **{name: arithmetic(name) for name in OPS},
    "item": number,
    "_local_scalar_dense": number,
    "sym_float": cast_number("float32"),
    "sym_int": cast_number("int64"),
    "sym_bool": cast_number("bool"),
    "sym_not": lambda c: c.op("Not", c.tensor("a")),
    "sym_neg": lambda c: c.op("Neg", c.tensor("a")),
    "_assert_scalar": asserted,
}
