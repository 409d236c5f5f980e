"""The operations of keras.ops.image agree with Keras."""

import pytest

from tests.frontends.keras.image_rows import ROWS
from tests.frontends.keras.operation_rows import FILED, check


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.sample(FILED["image"])
def test_image_operation(compare, name, tmp_path):
    check(compare, ROWS[name], tmp_path, 1e-4)
