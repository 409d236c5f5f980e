"""Recognise files of Caffe by their first bytes."""

import re

TEXT = re.compile(
    rb"(?:\s|#[^\n]*\n)*(?:layers?\s*:?\s*[{<]|input_dim\s*:|input_shape\s*:?\s*[{<]|(?:name|input)\s*:\s*[\"']|force_backward\s*:|state\s*:?\s*[{<])"
)
INSIDE = re.compile(rb"\b(?:layers?\s*:?\s*[{<]|input\s*:\s*[\"']|input_dim\s*:|input_param\b)")
"""A key near the start of a definition that other text formats with a `name` do not have."""
NAMES, NUMBERS, TABLES, LAYERS = (
    (0x0A, 0x1A),
    (0x20, 0x28, 0x38),
    (0x32, 0x42),
    (b"\xa2\x06", b"\x12"),
)
NAMED = re.compile(
    rb"(?:\xa2\x06|\x12)[\x80-\xff]*[\x01-\x7f](?:\x0a[\x01-\x7f][\x20-\x7e\x80-\xff]|[\x12\x1a\x22][\x01-\x7f][\x20-\x7e\x80-\xff]|\x0a[\x80-\xff]+[\x00-\x7f]\x0a[\x01-\x7f][\x20-\x7e]|\x0a[\x02-\x7f]\x0a[\x01-\x7f][\x20-\x7e])"
)
"""A layer starts with its name, bottom or top; in the V0 format, with a nested layer."""


def is_text(start: bytes) -> bool:
    """Whether these bytes start a text definition."""
    return TEXT.match(start) is not None and INSIDE.search(start) is not None


def is_binary(start: bytes) -> bool:
    """Whether these bytes start a weight file: fields of a net, then a layer."""
    at = 0
    while at < len(start):
        if start.startswith(LAYERS, at):
            return NAMED.match(start, at) is not None
        tag = start[at]
        if tag in NUMBERS:
            at += 1
            while at < len(start) and start[at] >= 0x80:
                at += 1
            at += 1
        elif tag in NAMES or tag in TABLES:
            length = start[at + 1] if at + 1 < len(start) else 0x80
            text = start[at + 2 : at + 2 + length]
            if length >= 0x80 or (tag in NAMES and any(byte < 0x20 for byte in text)):
                return False
            at += 2 + length
        else:
            return False
    return False
