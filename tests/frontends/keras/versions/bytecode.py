"""Code objects of several versions of Python in marshal format, assembled from bytes by hand."""

import base64
import struct

ONE = "x / 127.5 - 1"
TWO = "K.l2_normalize(x, axis=1)"
THREE = "tf.abs(x[0] - x[1])"
FOUR = "x[:, :, 0]"

CODES = {
    ("2.7", ONE): "7c0000 640100 15 640200 18 53",
    ("3.5", ONE): "7c0000 640100 1b 640200 18 53",
    ("3.7", ONE): "7c00 6401 1b00 6402 1800 5300",
    ("3.10", ONE): "7c00 6401 1b00 6402 1800 5300",
    ("3.11", ONE): "9700 7c00 6401 7a0b 0000 6402 7a0a 0000 5300",
    ("3.12", ONE): "9700 7c00 6401 7a0b 0000 6402 7a0a 0000 5300",
    ("3.13", ONE): "9500 5500 5301 2d0b 0000 5302 2d0a 0000 2400",
    ("2.7", TWO): "740000 6a0100 7c0000 640100 640200 830101 53",
    ("3.5", TWO): "740000 6a0100 7c0000 640100 640200 830101 53",
    ("3.7", TWO): "7400 6a01 7c00 6402 6403 8d02 5300",
    ("3.10", TWO): "7400 6a01 7c00 6402 6403 8d02 5300",
    ("3.11", TWO): (
        "9700 7400 0000000000000000 0000 a001 0000000000000000000000000000000000000000"
        " 7c00 6402 ac03 a602 0000 ab02 0000000000000000 5300"
    ),
    ("3.12", TWO): (
        "9700 7400 0000000000000000 6a03 000000000000000000000000000000000000"
        " 7c00 6402 ac03 ab02 000000000000 5300"
    ),
    ("3.13", TWO): (
        "9500 5b00 0000000000000000 5202 000000000000000000000000000000000000 2200"
        " 5500 5302 5303 3902 2400"
    ),
    ("2.7", THREE): "740000 6a0100 7c0000 640100 19 7c0000 640200 19 18 830100 53",
    ("3.7", THREE): "7400 a001 7c00 6401 1900 7c00 6402 1900 1800 a101 5300",
    ("3.10", THREE): "7400 a001 7c00 6401 1900 7c00 6402 1900 1800 a101 5300",
    ("3.12", THREE): (
        "9700 7400 0000000000000000 6a03 000000000000000000000000000000000000"
        " 7c00 6401 1900 0000 7c00 6402 1900 0000 7a0a 0000 ab01 000000000000 5300"
    ),
    ("3.13", THREE): (
        "9500 5b00 0000000000000000 5203 000000000000000000000000000000000000"
        " 5500 5301 0500 0000 5500 5302 0500 0000 2d0a 0000 3501 000000000000 2400"
    ),
    ("2.7", FOUR): "7c0000 640000 640000 850200 640000 640000 850200 640100 660300 19 53",
    ("3.7", FOUR): "7c00 6400 6400 8502 6400 6400 8502 6401 6603 1900 5300",
    ("3.13", FOUR): "9500 5500 5300 5300 3202 5300 5300 3202 5301 3403 0500 0000 2400",
}
CONSTANTS = {
    ONE: (None, 127.5, 1),
    TWO: (None, "axis", 1),
    THREE: (None, 0, 1),
    FOUR: (None, 0),
}
NAMES = {TWO: ("K", "l2_normalize"), THREE: ("tf", "abs")}


def constants(version, source):
    """Python 3.6 and later pass the names of keyword arguments as a tuple."""
    if source == TWO and version not in {"2.7", "3.5"}:
        return (None, None, 1, ("axis",))
    return CONSTANTS[source]


def _value(value, version):
    if value is None:
        return b"N"
    if isinstance(value, bytes):
        return b"s" + struct.pack("<i", len(value)) + value
    if isinstance(value, int):
        return b"i" + struct.pack("<i", value)
    if isinstance(value, float):
        return b"g" + struct.pack("<d", value)
    if isinstance(value, str):
        text = value.encode()
        if version == "2.7":
            return b"t" + struct.pack("<i", len(text)) + text
        return b"\xda" + bytes([len(text)]) + text
    items = b"".join(_value(item, version) for item in value)
    if version == "2.7":
        return b"(" + struct.pack("<i", len(value)) + items
    return b")" + bytes([len(value)]) + items


def marshalled(version, source, code=None, flags=0x43):
    """The marshalled code object of `lambda x: SOURCE`."""
    layout = {"3.5": 7, "3.7": 7, "3.10": 10, "2.7": 2}.get(version, 13)
    counts = {2: [1], 7: [1, 0], 10: [1, 0, 0], 13: [1, 0, 0]}[layout]
    numbers = [*counts, *([] if layout == 13 else [1]), 8, flags]
    data = bytes.fromhex(code or CODES[version, source])
    values = [data, constants(version, source), NAMES.get(source, ()), ("x",)]
    after = [b"\x26", "made.py", "<lambda>", "<lambda>"] if layout == 13 else []
    before = [] if layout == 13 else [(), (), "made.py", "<lambda>"]
    end = [b"", b""] if layout == 13 else [b""]
    return (
        (b"c" if version == "2.7" else b"\xe3")
        + struct.pack(f"<{len(numbers)}i", *numbers)
        + b"".join(_value(value, version) for value in (*values, *after, *before))
        + struct.pack("<i", 3)
        + b"".join(_value(value, version) for value in end)
    )


def config(version, source, **options):
    """The config of a Lambda layer."""
    text = base64.encodebytes(marshalled(version, source, **options)).decode()
    return {
        "name": "code",
        "dtype": "float32",
        "function": [text, None, None],
        "function_type": "lambda",
        "module": "__main__",
        "output_shape": None,
        "output_shape_type": "raw",
        "output_shape_module": None,
        "arguments": {},
    }
