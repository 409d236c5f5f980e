"""The notation of sizes in files: an integer, or the text of an expression."""

import ast
from functools import lru_cache

from webkiln.errors import InternalError, ShapeError
from webkiln.ir.dim import Dim, Shape, Size, floordiv, maximum, minimum
from webkiln.ir.symbols import from_name


def size_to_json(size: Size) -> int | str:
    return str(size) if isinstance(size, Dim) else size


def size_from_json(value: int | str) -> Size:
    return parse_size(value) if isinstance(value, str) else value


def parse_size(text: str) -> Size:
    """Parse one size; the inverse of `str`. Raises InternalError if `text` is not a size."""
    sizes = parse_sizes(text)
    if len(sizes) != 1:
        raise InternalError(f"{text!r} is not a size")
    return sizes[0]


@lru_cache(maxsize=4096)
def parse_sizes(text: str) -> Shape:
    """Parse zero or more comma-separated sizes. Raises InternalError if one is not a size."""
    try:
        items = ast.parse(f"[{text}]", mode="eval").body
        return tuple(map(_parsed, items.elts if isinstance(items, ast.List) else [items]))
    except (SyntaxError, RecursionError, KeyError, ShapeError) as error:
        raise InternalError(f"{text!r} is not a size") from error


def _parsed(node: ast.expr) -> Size:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return from_name(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_parsed(node.operand)
    if isinstance(node, ast.BinOp):
        a, b = _parsed(node.left), _parsed(node.right)
        if isinstance(node.op, ast.Add):
            return a + b
        if isinstance(node.op, ast.Sub):
            return a - b
        if isinstance(node.op, ast.Mult):
            return a * b
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
        a, b = map(_parsed, node.args)
        return {
            "floordiv": lambda: floordiv(a, b),
            "max": lambda: maximum([a, b]),
            "min": lambda: minimum(a, b),
        }[node.func.id]()
    raise InternalError(f"{ast.unparse(node)!r} is not a size")
