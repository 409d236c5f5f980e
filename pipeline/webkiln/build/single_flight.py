"""Single flight: of several steps that need one result, one computes it and the others wait."""

from collections.abc import Iterable
from threading import Condition


class Claims:
    """The keys of results that are being computed."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._keys: set[str] = set()

    def claim(self, keys: Iterable[str]) -> set[str]:
        """Claim the keys that are not claimed yet, until they are released. Returns these."""
        with self._changed:
            mine = set(keys) - self._keys
            self._keys |= mine
            return mine

    def release(self, keys: Iterable[str]) -> None:
        with self._changed:
            self._keys.difference_update(keys)
            self._changed.notify_all()

    def wait(self, keys: Iterable[str]) -> None:
        """Wait until none of the keys is claimed. A caller that has claimed keys itself might
        deadlock.
        """
        pending = set(keys)
        with self._changed:
            self._changed.wait_for(lambda: not pending & self._keys)
