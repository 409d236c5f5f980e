"""All models of one operator."""

from tests.frontends.tflite.singles.custom import customs
from tests.frontends.tflite.singles.elementwise import binaries, unary_floats
from tests.frontends.tflite.singles.integers import quantized_integers
from tests.frontends.tflite.singles.layers import (
    joins_and_groups,
    products,
    requantizations,
    resizes,
)
from tests.frontends.tflite.singles.lookups import lookups
from tests.frontends.tflite.singles.quantized import curves, quantized_elements
from tests.frontends.tflite.singles.recurrent import recurrent
from tests.frontends.tflite.singles.recurrent_integers import recurrent_integers
from tests.frontends.tflite.singles.shapes import shapes

SINGLES = [
    *customs(),
    *unary_floats(),
    *binaries(),
    *quantized_elements(),
    *curves(),
    *products(),
    *resizes(),
    *requantizations(),
    *joins_and_groups(),
    *shapes(),
    *lookups(),
    *recurrent(),
]
INTEGER_SINGLES = [*recurrent_integers(), *quantized_integers()]
