"""The error of a model file."""

import pytest

from webkiln.errors import SourceError, UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model


def error_of(path, kind=SourceError, **options):
    with pytest.raises(kind) as caught:
        model, blobs = load_model(path, **options)
        KerasConverter().convert(model, blobs)
    message = str(caught.value)
    assert "\n" not in message or kind is UnsupportedError
    return message
