"""Masks of attention, nested models and user-defined layers agree with Keras."""

import keras
import pytest
from keras import layers as L

from webkiln.errors import UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter


def words(name, size=5):
    return keras.Input((size,), dtype="int32", name=name)


def embedded(x):
    return L.Embedding(5, 4, mask_zero=True)(x)


class Summary(L.Layer):
    """Reads the mask of its input without a `mask` argument."""

    def __init__(self, **options):
        super().__init__(**options)
        self.lstm = L.LSTM(3)

    def build(self, shape):
        self.lstm.build(shape)

    def call(self, x):
        return self.lstm(x)


class Reader(L.Layer):
    """Attaches a mask to its output."""

    def __init__(self, **options):
        super().__init__(**options)
        self.table = L.Embedding(5, 4, mask_zero=True)

    def build(self, shape):
        self.table.build(shape)

    def call(self, x):
        return self.table(x) * 1.5 if self.name == "lost" else self.table(x)


class Handing(L.Layer):
    """Returns its input's mask unchanged."""

    def __init__(self, **options):
        super().__init__(**options)
        self.supports_masking = True

    def call(self, x):
        return x * 2.0


def nested_maker():
    inside = words("inside")
    inner = keras.Model(inside, embedded(inside), name="inner")
    x = words("x")
    return keras.Model(x, L.LSTM(3)(inner(x)))


def nested_deeply():
    inside = words("inside")
    inner = keras.Model(inside, embedded(inside), name="inner")
    between = words("between")
    middle = keras.Model(between, L.Dense(3)(inner(between)), name="middle")
    x = words("x")
    return keras.Model(x, [L.LSTM(3)(middle(x)), L.GlobalAveragePooling1D()(middle(x))])


def nested_taker():
    inside = keras.Input((5, 4), name="inside")
    inner = keras.Model(inside, L.GRU(3, return_sequences=True)(L.Dense(4)(inside)), name="inner")
    x = words("x")
    return keras.Model(x, L.LSTM(3)(inner(embedded(x))))


def nested_join():
    first, second = keras.Input((5, 4), name="first"), keras.Input((3, 4), name="second")
    inner = keras.Model([first, second], L.Concatenate(axis=1)([first, second]), name="inner")
    x, y = words("x"), words("y", 3)
    return keras.Model(
        [x, y],
        [
            L.LSTM(3)(inner([embedded(x), embedded(y)])),
            L.LSTM(3)(inner([embedded(x), L.Embedding(5, 4)(y)])),
        ],
    )


def nested_attention():
    first, second = keras.Input((5, 4), name="first"), keras.Input((3, 4), name="second")
    y = L.MultiHeadAttention(2, 3)(first, second)
    inner = keras.Model([first, second], L.Attention()([y, second]), name="inner")
    x, y = words("x"), words("y", 3)
    return keras.Model([x, y], L.LSTM(3)(inner([embedded(x), embedded(y)])))


def sequential():
    return keras.Sequential(
        [words("x"), keras.Sequential([words("y"), L.Embedding(5, 4, mask_zero=True)]), L.LSTM(3)]
    )


def heads():
    x, y = words("x"), words("y", 3)
    query, value = embedded(x), embedded(y)
    a = L.MultiHeadAttention(2, 3)(query, value)
    b = L.MultiHeadAttention(2, 3, dropout=0.1)(query, query, use_causal_mask=True)
    c = L.GroupQueryAttention(3, 2, 1)(query, value)
    return keras.Model([x, y], [L.LSTM(3)(a), L.GlobalAveragePooling1D()(b), L.GRU(2)(c)])


def given_masks():
    """MultiHeadAttention reads the mask of its query, not the `mask` argument, which
    GroupQueryAttention reads.
    """
    x, seen = keras.Input((5, 4), name="x"), keras.Input((5,), dtype="bool", name="seen")
    pairs = keras.Input((5, 5), dtype="bool", name="pairs")
    a = L.MultiHeadAttention(2, 3)(x, x, query_mask=seen)
    b = L.GroupQueryAttention(3, 2, 2)(x, x, query_mask=seen)
    c = L.MultiHeadAttention(2, 3)(x, x, value_mask=seen, key_mask=seen, attention_mask=pairs)
    d = L.GroupQueryAttention(3, 2, 2, dropout=0.2)(
        x, x, attention_mask=pairs, use_causal_mask=True
    )
    e = L.Attention()([x, x], mask=[seen, seen])
    f = L.AdditiveAttention()([x, x, x], mask=[seen, seen, seen], use_causal_mask=True)
    return keras.Model([x, seen, pairs], [a, b, c, d, e, f])


def scores():
    x = words("x")
    y = embedded(x)
    return keras.Model(
        x,
        [
            *L.MultiHeadAttention(2, 3)(y, y, return_attention_scores=True),
            *L.GroupQueryAttention(3, 4, 2)(y, y, return_attention_scores=True),
            *L.Attention()([y, y], return_attention_scores=True),
        ],
    )


def inside_own_layers():
    x = words("x")
    lost, kept = Reader(name="lost")(x), Reader()(x)
    return keras.Model(
        x,
        [
            L.LSTM(3)(lost),
            L.LSTM(3)(kept),
            Summary()(embedded(x)),
            L.LSTM(3)(Handing()(embedded(x))),
        ],
    )


def attention_twice():
    """MultiHeadAttention removes the masks of its inputs: a second one does not have the mask of
    its query.
    """
    x = words("x")
    y = embedded(x)
    outputs = [
        L.MultiHeadAttention(2, 3)(y, y),
        L.MultiHeadAttention(2, 3, dropout=0.2)(y, y),
        L.GroupQueryAttention(3, 2, 2)(y, y),
    ]
    return keras.Model(x, outputs)


def int_mask():
    x, seen = keras.Input((5, 4), name="x"), keras.Input((5,), dtype="int32", name="seen")
    return keras.Model([x, seen], L.GlobalAveragePooling1D()(x, mask=seen))


MODELS = (
    nested_maker,
    nested_deeply,
    nested_taker,
    nested_join,
    nested_attention,
    sequential,
    heads,
    scores,
    attention_twice,
    inside_own_layers,
)


@pytest.mark.parametrize("make", [*MODELS, given_masks, int_mask], ids=lambda make: make.__name__)
def test_models_with_masks(compare, make):
    compare(make())


@pytest.mark.parametrize(
    "make",
    [make for make in MODELS if make is not inside_own_layers],
    ids=lambda make: make.__name__,
)
@pytest.mark.sample(4)
def test_files_with_masks(make, tmp_path):
    model = make()
    graph = KerasConverter().convert(model)
    model.save(tmp_path / "m.keras")
    assert KerasConverter().convert(tmp_path / "m.keras") == graph


def test_masks_of_traced_layers_are_refused():
    x = words("x")
    model = keras.Model(x, Summary(name="summary")(Reader()(x)))
    with pytest.raises(
        UnsupportedError,
        match=r"summary \(Summary\): its input has a mask that a traced layer computes",
    ):
        KerasConverter().convert(model)


class Joined(L.Layer):
    """Reads the masks of each of its arguments, or of a list."""

    def call(self, first, second=None, first_mask=None, second_mask=None, mask=None):
        first, second = first if second is None else (first, second)
        masks = mask or (first_mask, second_mask)
        shown = [
            0.0 if mask is None else keras.ops.cast(mask, "float32")[..., None] for mask in masks
        ]
        return first + second + shown[0] * 3 + shown[1] * 5


class Keeping(L.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.supports_masking = True

    def call(self, x):
        return keras.ops.tanh(x)


def masks_of_arguments():
    x = words("x")
    y, z = embedded(x), keras.ops.tanh(embedded(x))
    return keras.Model(x, [Joined()(y, Keeping()(y)), Joined()([y, Keeping()(y)]), Joined()(z, y)])


def kept_by_a_layer_in_a_model():
    x = words("x")
    inner = keras.Sequential([L.Dense(3), Keeping()])
    return keras.Model(x, [L.LSTM(3)(inner(embedded(x))), L.LSTM(3)(Keeping()(Reader()(x)))])


@pytest.mark.parametrize(
    "make", [masks_of_arguments, kept_by_a_layer_in_a_model], ids=lambda make: make.__name__
)
def test_user_defined_layers_receive_and_keep_masks(compare, make):
    compare(make())


class MaskReader(L.Layer):
    def call(self, x, mask=None):
        return x * 0 if mask is None else x


@pytest.mark.parametrize(
    "layer",
    [
        MaskReader,
        lambda **options: L.Lambda(lambda x, mask=None: x if mask is None else -x, **options),
    ],
)
def test_calls_that_read_masks_of_traced_layers_are_refused(layer):
    x = words("x")
    model = keras.Model(x, layer(name="heeding")(Reader()(x)))
    with pytest.raises(
        UnsupportedError,
        match=r"heeding \(\w+\): its input has a mask that a traced layer computes",
    ):
        KerasConverter().convert(model)
