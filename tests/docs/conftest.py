from collections.abc import Iterator

import pytest

from tests.docs.programs import Programs, programs


@pytest.fixture(scope="session")
def with_keras() -> Iterator[Programs]:
    with programs() as keras_programs:
        yield keras_programs
