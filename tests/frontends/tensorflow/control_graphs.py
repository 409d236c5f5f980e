"""Graphs with conditions, loops and calls of functions."""

from collections.abc import Mapping

import tensorflow as tf

from tests.frontends.tensorflow.graph_inputs import Graph, images


def conditions(x: tf.Tensor) -> dict[str, tf.Tensor]:
    total = tf.reduce_sum(x)
    chosen = tf.cond(total > 0, lambda: x * 2.0, lambda: x - 1.0)
    nested = tf.cond(
        total > 5, lambda: tf.cond(total > 9, lambda: x, lambda: -x), lambda: tf.zeros_like(x)
    )
    return {
        "chosen": chosen,
        "nested": nested,
        "switch": tf.switch_case(tf.cast(total > 0, tf.int32), [lambda: x + 1.0, lambda: x + 2.0]),
    }


def loops(x: tf.Tensor) -> dict[str, tf.Tensor]:
    def halve(value: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return value / 2.0, count + 1

    shrunk, count = tf.while_loop(
        lambda value, _: tf.reduce_max(tf.abs(value)) > 0.1, halve, (x, tf.constant(0))
    )
    _, fixed = tf.while_loop(
        lambda step, _: step < 5,
        lambda step, value: (step + 1, value + tf.cast(step, tf.float32)),
        (0, x),
    )
    return {"shrunk": shrunk, "count": count, "fixed": fixed}


def nested(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Loops in loops, conditions in loops, and a loop in a condition."""

    def row(number: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        _, inner = tf.while_loop(
            lambda column, _: column < 3,
            lambda column, value: (column + 1, value + x[number, column]),
            (0, 0.0),
        )
        return number + 1, total + tf.cond(inner > 0, lambda: inner, lambda: inner * 0.5)

    _, total = tf.while_loop(lambda number, _: number < tf.shape(x)[0], row, (0, 0.0))
    started = tf.cond(
        total > 0,
        lambda: tf.while_loop(
            lambda value: value < 50.0, lambda value: (value * 2.0 + 1.0,), (total,)
        ),
        lambda: (total,),
    )
    return {"total": total, "started": started[0] if isinstance(started, tuple | list) else started}


def called(x: tf.Tensor) -> dict[str, tf.Tensor]:
    @tf.function
    def inner(value: tf.Tensor, factor: float) -> tuple[tf.Tensor, tf.Tensor]:
        return value * factor, tf.reduce_sum(value)

    first, total = inner(x, 2.0)
    second, _ = inner(first, 3.0)
    return {"first": first, "second": second, "total": total}


CONTROL_GRAPHS: Mapping[str, Graph] = {
    "conditions": (conditions, images(3, 4)),
    "loops": (loops, images(3, 4)),
    "called": (called, images(None, 4)),
    "nested": (nested, images(3, 4)),
}
