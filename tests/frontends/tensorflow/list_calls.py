"""Calls of the operators of lists and TensorArrays."""

from collections.abc import Iterator, Sequence

import tensorflow as tf

raw = tf.raw_ops


def lists(x: tf.Tensor) -> Iterator[tf.Tensor]:
    """Lists that grow and shrink outside of loops."""
    empty = raw.EmptyTensorList(element_shape=[7], max_num_elements=-1, element_dtype=tf.float32)
    full = empty
    for index in range(3):
        full = raw.TensorListPushBack(input_handle=full, tensor=x[0, :, index, 0])
    yield raw.TensorListStack(input_handle=full, element_shape=[7], element_dtype=tf.float32)
    for _ in range(2):
        full, last = raw.TensorListPopBack(
            input_handle=full, element_shape=[7], element_dtype=tf.float32
        )
        yield last
        yield raw.TensorListStack(input_handle=full, element_shape=[7], element_dtype=tf.float32)


def list_operators(x: tf.Tensor) -> Iterator[tf.Tensor]:
    """Lists written and resized as a whole."""
    rows, shape = x[0, :6, 0], tf.constant([4])

    def stacked(handle: tf.Tensor, shape: Sequence[int] = (4,)) -> tf.Tensor:
        return raw.TensorListStack(
            input_handle=handle, element_shape=list(shape), element_dtype=tf.float32
        )

    order = tf.constant([2, 0, 1, 5, 3, 4])
    scattered = raw.TensorListScatter(tensor=rows, indices=order, element_shape=shape)
    yield stacked(scattered)
    for size in (2, 6, 8):
        yield stacked(raw.TensorListResize(input_handle=scattered, size=size))
    reserved = raw.TensorListReserve(element_shape=shape, num_elements=1, element_dtype=tf.float32)
    grown = raw.TensorListResize(input_handle=reserved, size=3)
    yield stacked(raw.TensorListSetItem(input_handle=grown, index=2, item=rows[1]))
    for lengths in ([2, 2, 2], [3, 3], [6]):
        parts = raw.TensorListSplit(tensor=rows, element_shape=[-1, 4], lengths=lengths)
        yield stacked(parts, (lengths[0], 4))
        joined = raw.TensorListConcat(
            input_handle=parts, element_dtype=tf.float32, element_shape=[None, 4]
        )
        yield joined[0] * 2.0
        yield tf.cast(joined[1], tf.float32)
        handle, flow = raw.TensorArrayV3(size=len(lengths), dtype=tf.float32)
        flow = raw.TensorArraySplitV3(handle=handle, value=rows, lengths=lengths, flow_in=flow)
        yield raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)
