"""Matrix products, Gemm and Einsum."""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.frontends.onnx.operators.shape import reshaped, transposed
from webkiln.ops.builder import Tensor


def matrix_product(call: NodeCall, a: Tensor, b: Tensor) -> Tensor:
    """numpy.matmul, including vectors."""
    left = reshaped(call, a, (1, *a.shape)) if a.type.rank == 1 else a
    right = reshaped(call, b, (*b.shape, 1)) if b.type.rank == 1 else b
    y = call.op("MatMul", [left, right])
    shape = list(y.shape)
    if b.type.rank == 1:
        del shape[-1]
    if a.type.rank == 1:
        del shape[-1 if b.type.rank == 1 else -2]
    return reshaped(call, y, shape)


def matmul(call: NodeCall) -> Tensor:
    return matrix_product(call, call.tensor(0), call.tensor(1))


def gemm(call: NodeCall) -> Tensor:
    """alpha a b + beta c; a transposed weight is stored in transposed form."""
    a, b = call.tensor(0), call.tensor(1)
    transpose_b = bool(call.attr("transB", 0))
    if transpose_b and call.builder.is_slot(b):
        b, transpose_b = transposed(call, b, (1, 0)), False
    attrs = {"transpose_a": bool(call.attr("transA", 0)), "transpose_b": transpose_b}
    integer_dtype = a.dtype if not a.dtype.startswith("float") else None
    y = call.op("MatMul", [a, b], attrs)
    y = scale(call, y, call.attr("alpha", 1.0), integer_dtype)
    if not call.has(2):
        return y
    return call.op("Add", [y, scale(call, call.tensor(2), call.attr("beta", 1.0), integer_dtype)])


def scale(call: NodeCall, x: Tensor, factor: float, integer_dtype: str | None = None) -> Tensor:
    """x times a factor. Integers are multiplied as floats, then cast to `integer_dtype`."""
    if factor == 1:
        return x
    return (
        cast(call, cast(call, x, "float32") * factor, integer_dtype)
        if integer_dtype
        else x * factor
    )


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(call: NodeCall) -> Tensor:
    """Einsum. An ellipsis covers the axes without letters; without `->`, the result has the letters
    that occur once, in alphabetical order.
    """
    operands = call.tensors()
    left, arrow, right = call.attr("equation").replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise call.error(f"the equation has {len(terms)} terms, there are {len(operands)} operands")
    ellipsis_ranks = [
        x.type.rank - len(term.replace("...", "")) if "..." in term else 0
        for term, x in zip(terms, operands, strict=True)
    ]
    unused_letters = [letter for letter in LETTERS if letter not in call.attr("equation")][
        : max(ellipsis_ranks)
    ]
    if not arrow:
        letters = "".join(term.replace("...", "") for term in terms)
        right = ("..." if "..." in left else "") + "".join(
            sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        )
    expanded = [
        term.replace("...", "".join(unused_letters[len(unused_letters) - count :]))
        for term, count in zip(terms, ellipsis_ranks, strict=True)
    ]
    result = right.replace("...", "".join(unused_letters))
    squeezed = [
        _without_ones(call, x, term, expanded, operands)
        for x, term in zip(operands, expanded, strict=True)
    ]
    y = call.op(
        "Einsum",
        [x for x, _ in squeezed],
        {"equation": f"{','.join(term for _, term in squeezed)}->{_output_axes(result, squeezed)}"},
    )
    sizes = {
        letter: size for x, term in squeezed for letter, size in zip(term, x.shape, strict=True)
    }
    return reshaped(call, y, tuple(sizes.get(letter, 1) for letter in result))


def _without_ones(
    call: NodeCall, x: Tensor, term: str, terms: Sequence[str], operands: Sequence[Tensor]
) -> tuple[Tensor, str]:  # fmt: skip
    """The operand without the axes of size 1 that other operands broadcast."""
    widest = {
        letter: max(
            (
                y.shape[other.index(letter)]
                for y, other in zip(operands, terms, strict=True)
                if letter in other
            ),
            key=str,
        )
        for letter in term
    }
    axes = [axis for axis, letter in enumerate(term) if x.shape[axis] != 1 or widest[letter] == 1]
    return reshaped(call, x, [x.shape[axis] for axis in axes]), "".join(term[axis] for axis in axes)


def _output_axes(result: str, squeezed: Sequence[tuple[Tensor, str]]) -> str:
    present = "".join(term for _, term in squeezed)
    return "".join(letter for letter in result if letter in present)


LINEAR: dict[str, NodeHandler] = {"MatMul": matmul, "Gemm": gemm, "Einsum": einsum}
