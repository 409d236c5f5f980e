"""Attributes of convolutions for tests."""

PLAIN_2D = {
    "strides": (1, 1),
    "dilation": (1, 1),
    "pad_low": (0, 0),
    "pad_high": (0, 0),
    "groups": 1,
}
"""Those of an image without options, other than the orders of axes."""
