"""Graphs whose calls share rows, or one workgroup, on webgpu."""

from tests.lower.chain_graphs import PRODUCT_CHAINS


def _norm(rows, columns):
    return f"""
        input x: float32[{rows},{columns}]
        slot g: float32[{columns}]
        slot b: float32[{columns}]
        m: float32[{rows},1] = ReduceMean(x) {{"axes":[1],"keepdims":true}}
        c: float32[{rows},{columns}] = Sub(x, m)
        q: float32[{rows},{columns}] = Square(c)
        v: float32[{rows},1] = ReduceMean(q) {{"axes":[1],"keepdims":true}}
        s: float32[{rows},1] = Sqrt(v)
        n: float32[{rows},{columns}] = Div(c, s)
        h: float32[{rows},{columns}] = Mul(n, g)
        y: float32[{rows},{columns}] = Add(h, b)
        output out = y
    """


NORMS = {
    "long rows": _norm(9, 384),
    "rows of a few columns": _norm(50, 12),
    "columns that are no vectors": _norm(19, 37),
    "one row": _norm(1, 300),
    "any number of rows": _norm("T", 40),
    "any number of columns": """
        input x: float32[6,T]
        y: float32[6,T] = Softmax(x) {"axis":1}
        output out = y
    """,
    "softmax": """
        input x: float32[5,11,33]
        y: float32[5,11,33] = Softmax(x) {"axis":2}
        output out = y
    """,
    "softmax between others": """
        input x: float32[30,70]
        slot w: float32[70,40]
        a: float32[30,70] = Tanh(x)
        p: float32[30,70] = Softmax(a) {"axis":1}
        y: float32[30,40] = MatMul(p, w)
        output weights = p
        output out = y
    """,
}
GROUPS = {**NORMS, **PRODUCT_CHAINS}
