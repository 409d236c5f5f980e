"""Who makes what: of steps that run at once and lack the same result, one makes it and the others
wait for it.
"""

from collections.abc import Iterable
from threading import Condition


class Claims:
    """The keys of results that are being made."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._keys: set[str] = set()

    def claim(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys that nobody had claimed, which the caller has now, until it releases
        them.
        """
        with self._changed:
            mine = set(keys) - self._keys
            self._keys |= mine
            return mine

    def release(self, keys: Iterable[str]) -> None:
        with self._changed:
            self._keys.difference_update(keys)
            self._changed.notify_all()

    def wait(self, keys: Iterable[str]) -> None:
        """Until nobody claims any of the keys. A caller that claims some itself might wait for
        ever.
        """
        wanted = set(keys)
        with self._changed:
            self._changed.wait_for(lambda: not wanted & self._keys)
