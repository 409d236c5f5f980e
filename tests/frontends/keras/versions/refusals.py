"""The error of a model file, with the weights or shards next to it."""

import pytest

from webkiln.errors import SourceError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.reader import parse_model


def refused(path, message, error=SourceError, companion=None):
    with pytest.raises(error, match=message):
        KerasConverter().convert(*parse_model(path, companion=companion))
