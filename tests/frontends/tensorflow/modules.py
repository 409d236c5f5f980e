"""TensorFlow modules, saved with the shapes that TensorFlow infers."""

from pathlib import Path

import numpy as np
import tensorflow as tf

X = tf.TensorSpec([None, 4], tf.float32, name="x")


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(0, 0.5, shape).astype(np.float32)


class Stepping(tf.Module):
    """A step around a layer, in functions that call each other. `keeping` also has a variable that
    accumulates over runs.
    """

    def __init__(self) -> None:
        self.weights = {
            key: tf.Variable(numbers(*shape), name=key)
            for key, shape in (("first", (4, 6)), ("second", (6, 6)), ("last", (6, 3)))
        }
        self.total = tf.Variable(tf.ones([6]), name="total")

    @tf.function
    def layer(self, x: tf.Tensor, name: str) -> tf.Tensor:
        return tf.matmul(x, self.weights[name])

    @tf.function
    def step(self, x: tf.Tensor) -> tf.Tensor:
        y = tf.identity(tf.nn.relu(self.layer(x, "first"), name="relu"), name="middle")
        return tf.tanh(y + self.layer(y, "second"), name="tanh")

    @tf.function(input_signature=[X])
    def stepping(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": self.layer(self.step(x), "last")}

    @tf.function(input_signature=[X])
    def keeping(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        y = self.step(x)
        self.total.assign_add(tf.reduce_sum(y, 0))
        return {"y": self.layer(y * self.total, "last")}


def stepping(folder: Path, name: str) -> Path:
    module = Stepping()
    tf.saved_model.save(module, str(folder), signatures=getattr(module, name))
    return folder / "saved_model.pb"


def old(folder: Path) -> Path:
    """A SavedModel of TensorFlow 1: variables as nodes of the graph, a loop with a TensorArray, and
    a condition, in the operators of TensorFlow 1.
    """
    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, (None, 4), name="x")
            plain = v1.get_variable("plain", initializer=numbers(4, 6), use_resource=False)
            resource = v1.get_variable("resource", initializer=numbers(6, 6), use_resource=True)
            first = tf.nn.relu(tf.matmul(x, plain), name="first")

            def step(
                number: tf.Tensor, y: tf.Tensor, written: tf.TensorArray
            ) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
                y = tf.tanh(tf.matmul(y, resource), name="turned")
                return number + 1, y, written.write(number, y)

            _, last, written = v1.while_loop(
                lambda number, *_: number < 3,
                step,
                (0, first, tf.TensorArray(tf.float32, 3)),
                name="turns",
            )
            every = tf.reduce_sum(written.stack(), 0, name="every") + last
            chosen = v1.cond(
                tf.reduce_sum(every) > 0,
                lambda: tf.multiply(every, 2.0, name="more"),
                lambda: tf.subtract(every, 1.0, name="less"),
            )
            y = tf.nn.softmax(tf.sigmoid(chosen, name="after"), name="soft")
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})
    finally:
        v1.enable_control_flow_v2()
    return folder / "saved_model.pb"


class Scored(tf.Module):
    """A variable, a table of numbers, and two signatures."""

    def __init__(self) -> None:
        self.weight = tf.Variable(
            np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32), name="weight"
        )
        keys, values = tf.constant([2, 0, 1], tf.int64), tf.constant([7, 9, -4], tf.int64)
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), 5)

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def score(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        y = tf.matmul(x, self.weight)
        return {
            "score": y,
            "label": self.table.lookup(tf.argmax(y, 1)),
            "other": self.table.lookup(tf.constant([[3], [0]], tf.int64)),
        }

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def doubled(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"twice": x * 2.0}
