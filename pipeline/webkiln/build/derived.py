"""Values derived from the content of files alone, remembered for all trees, such as the imports of
a source.
"""

from pathlib import Path
from threading import Lock
from typing import Any

from webkiln import canonical
from webkiln.build.files import write_atomic

MOST = 4096


class Derived:
    """Values by keys that name the content that they follow from. A damaged file holds none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._found: dict[str, Any] = self._read()
        self._used: dict[str, Any] = {}
        self._is_new = False

    def get(self, key: str) -> Any:
        """The value of a key; None if unknown."""
        value = self._found.get(key)
        if value is not None:
            self._used[key] = value
        return value

    def remember(self, key: str, value: Any) -> None:
        with self._lock:
            self._found[key] = self._used[key] = value
            self._is_new = True

    def save(self) -> None:
        """Add what is new to what others have written meanwhile; beyond 4096 entries, only what was
        used stays.
        """
        with self._lock:
            if not self._is_new:
                return
            merged = self._read() | self._used
            body = merged if len(merged) <= MOST else self._used
            self._is_new = False
        write_atomic(self._path, canonical.dumps({"sha256": canonical.key(body), "body": body}))

    def _read(self) -> dict[str, Any]:
        try:
            entry = canonical.read(self._path)
            return dict(entry["body"]) if entry["sha256"] == canonical.key(entry["body"]) else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}
