"""keras.ops operations that compare predictions with targets: cross entropies, connectionist
temporal classification (CTC), PSNR.
"""

from math import inf, log

from webkiln.errors import ShapeError
from webkiln.frontends.keras.operations.normalization import EPSILON
from webkiln.ir.dim import Size, known
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import FLOAT, Argument, floating, operands, tensor
from webkiln.ops.pieces import cast, filled, iota, largest, part, reshaped, sized, total, widened

NEVER = -1e30
"""The logarithm of probability 0."""


def _probable(b: GraphBuilder, x: Tensor) -> Tensor:
    """Clip probabilities so that their logarithms are finite."""
    return b.op("Clip", [x], {"min": EPSILON, "max": 1 - EPSILON})


def binary_crossentropy(
    b: GraphBuilder, target: Argument, output: Argument, *, from_logits: bool = False
) -> Tensor:
    z, x = operands(b, target, output, floating=True)
    if from_logits:
        linear = b.op("Sub", [b.op("Relu", [x]), b.op("Mul", [x, z])])
        return b.op("Add", [linear, b.op("Log1p", [b.op("Exp", [-b.op("Abs", [x])])])])
    x = _probable(b, x)
    hit, missed = b.op("Mul", [z, b.op("Log", [x])]), b.op("Mul", [1.0 - z, b.op("Log", [1.0 - x])])
    return -b.op("Add", [hit, missed])


def categorical_crossentropy(
    b: GraphBuilder,
    target: Argument,
    output: Argument,
    *,
    from_logits: bool = False,
    axis: int = -1,
) -> Tensor:
    z, x = operands(b, target, output, floating=True)
    if from_logits:
        score = b.op("LogSoftmax", [x], {"axis": axis % x.type.rank})
    else:
        score = b.op("Log", [_probable(b, b.op("Div", [x, total(b, x, axis, keepdims=True)]))])
    return -total(b, b.op("Mul", [z, score]), axis)


def sparse_categorical_crossentropy(
    b: GraphBuilder,
    target: Argument,
    output: Argument,
    *,
    from_logits: bool = False,
    axis: int = -1,
) -> Tensor:
    """The target is a class index. NaN for an invalid index, as on GPUs."""
    x, z = floating(b, output), cast(b, tensor(b, target), "int64")
    last = x.type.rank - 1
    if axis % x.type.rank != last:
        raise ShapeError(
            f"{b.layer}: axis {axis} is not supported; sparse_categorical_crossentropy uses the"
            " last axis"
        )
    x = x if from_logits else b.op("Log", [_probable(b, x)])
    score = b.op("LogSoftmax", [x], {"axis": last})
    z = reshaped(b, z, (*x.shape[:-1], 1))
    chosen = b.op("GatherElements", [score, z], {"axis": last})
    known = b.op("And", [b.binary("GreaterEqual", z, 0), b.binary("Less", z, x.shape[-1])])
    return reshaped(
        b, -b.op("Where", [known, chosen, b.op("Log", [b.constant(-1, x.dtype)])]), x.shape[:-1]
    )


def psnr(b: GraphBuilder, x1: Argument, x2: Argument, max_val: Argument) -> Tensor:
    """20 log10(max_val) - 10 log10 of the mean squared difference."""
    x, y = operands(b, x1, x2, floating=True)
    square = b.op("Square", [b.op("Sub", [x, y])])
    mean = b.op("ReduceMean", [square], {"axes": tuple(range(x.type.rank)), "keepdims": False})
    peak = (
        cast(b, tensor(b, max_val), x.dtype)
        if isinstance(max_val, Tensor)
        else b.constant(max_val, x.dtype)
    )
    return b.op("Sub", [b.op("Log", [peak]) * (20 / log(10)), b.op("Log", [mean]) * (10 / log(10))])


def ctc_loss(
    b: GraphBuilder,
    target: Argument,
    output: Argument,
    target_length: Argument,
    output_length: Argument,
    *,
    mask_index: int = 0,
) -> Tensor:
    """Graves et al. 2006: the negative logarithm of the sum over all paths, step by step, with
    log-probabilities in float32.

    target [B, L], output [B, T, C] (before a softmax). A path has blanks before, between and after
    labels.
    """
    x = floating(b, output)
    result = "float64" if x.dtype == "float64" else FLOAT
    score = b.op("LogSoftmax", [cast(b, x, FLOAT)], {"axis": 2})
    labels, lengths, steps = (
        cast(b, tensor(b, value), "int32") for value in (target, target_length, output_length)
    )
    batch, count, classes = score.shape
    states = 2 * labels.shape[1] + 1
    blank = mask_index % known(classes, "the number of classes")
    path = _path(b, labels, blank, batch)
    places = widened(b, reshaped(b, path, (batch, 1, states)), (batch, count, states))
    emitted = b.op("GatherElements", [score, places], {"axis": 2})
    before = _shift(b, path, 2, blank)
    skips = b.op(
        "And",
        [b.op("NotEqual", [path, b.constant(blank, "int32")]), b.op("NotEqual", [path, before])],
    )
    inside = b.op("Less", [iota(b, count, "int32"), reshaped(b, steps, (batch, 1))])
    start = b.op(
        "Where",
        [b.binary("Equal", iota(b, states, "int32"), 0), b.constant(0.0), b.constant(NEVER)],
    )

    def step(
        inner: GraphBuilder, current: list[Tensor], slices: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        (alpha,), (emission, goes_on) = current, slices
        skipped = inner.op("Where", [skips, _shift(inner, alpha, 2, NEVER), inner.constant(NEVER)])
        following = inner.op(
            "Add", [_summed(inner, alpha, _shift(inner, alpha, 1, NEVER), skipped), emission]
        )
        return [inner.op("Where", [reshaped(inner, goes_on, (batch, 1)), following, alpha])], []

    (last,), _ = b.scan([widened(b, start, (batch, states))], [emitted, inside], step, axis=1)
    end = reshaped(b, lengths, (batch, 1)) * 2
    blanked = b.op("GatherElements", [last, end], {"axis": 1})
    labelled = b.op("GatherElements", [last, b.binary("Max", end - 1, 0)], {"axis": 1})
    labelled = b.op("Where", [b.binary("Greater", end, 0), labelled, b.constant(NEVER)])
    loss = -_summed(b, blanked, labelled)
    loss = b.op("Where", [b.binary("Greater", loss, -NEVER / 2), b.constant(inf), loss])
    return cast(b, reshaped(b, loss, (batch,)), result)


def _path(b: GraphBuilder, labels: Tensor, blank: int, batch: Size) -> Tensor:
    """Labels [B, L] with blanks before, between and after them: [B, 2 L + 1]."""
    count = labels.shape[1]
    pairs = b.op(
        "Concat",
        [
            reshaped(b, item, (*labels.shape, 1))
            for item in (filled(b, blank, "int32", labels.shape), labels)
        ],
        {"axis": 2},
    )
    return b.op(
        "Concat",
        [reshaped(b, pairs, (batch, 2 * count)), filled(b, blank, "int32", (batch, 1))],
        {"axis": 1},
    )


def _shift(b: GraphBuilder, x: Tensor, distance: int, value: float) -> Tensor:
    """Shift the elements of [B, n] to later positions, and fill with `value`."""
    count = x.shape[1]
    head = part(b, x, 1, 0, max(count - distance, 0))
    return b.op("Pad", [head], {"low": (0, min(distance, count)), "high": (0, 0), "value": value})


def _summed(b: GraphBuilder, *xs: Tensor) -> Tensor:
    """log-sum-exp."""
    first, *rest = xs
    most = first
    for x in rest:
        most = b.op("Max", [most, x])
    shares = [b.op("Exp", [b.op("Sub", [x, most])]) for x in xs]
    sum_of_shares = shares[0]
    for share in shares[1:]:
        sum_of_shares = b.op("Add", [sum_of_shares, share])
    return b.op("Add", [most, b.op("Log", [sum_of_shares])])


def ctc_decode(
    b: GraphBuilder,
    inputs: Argument,
    sequence_lengths: Argument,
    *,
    strategy: str = "greedy",
    merge_repeated: bool = True,
    mask_index: int | None = 0,
    **_: int,
) -> list[Tensor]:
    """The best class of each step without repetitions and blanks, padded with -1; and the negative
    sum of their scores.
    """
    if strategy != "greedy":
        raise ShapeError(
            f"{b.layer}: strategy {strategy!r} is not supported; use strategy='greedy'"
        )
    x = floating(b, inputs)
    x = x if x.dtype == "float64" else cast(b, x, FLOAT)
    batch, count = x.shape[:2]
    classes = known(x.shape[2], "the number of classes")
    blank = (classes - 1 if mask_index is None else mask_index) % classes
    best = b.op("ArgMax", [x], {"axis": 2, "keepdims": False})
    lengths = cast(
        b,
        tensor(b, sequence_lengths, None if isinstance(sequence_lengths, Tensor) else "int32"),
        "int32",
    )
    inside = b.op("Less", [iota(b, count, "int32"), reshaped(b, lengths, (batch, 1))])
    retained = b.op("And", [inside, b.op("NotEqual", [best, b.constant(blank, "int32")])])
    if merge_repeated:
        retained = b.op("And", [retained, b.op("NotEqual", [best, _shift(b, best, 1, -1)])])
    positions = b.op("CumSum", [cast(b, retained, "int32")], {"axis": 1, "exclusive": True})
    positions = b.op("Where", [retained, positions, sized(b, count, "int32")])
    packed = b.op(
        "ScatterElements", [filled(b, -1, "int32", (batch, count)), positions, best], {"axis": 1}
    )
    score = b.op("Where", [inside, largest(b, x, 2), b.constant(0, x.dtype)])
    return [reshaped(b, packed, (1, batch, count)), -total(b, score, 1, keepdims=True)]
