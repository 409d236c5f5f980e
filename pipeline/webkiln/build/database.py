"""doit's record of finished tasks in sqlite. It is committed after each task, so that SIGKILL loses
only the running ones.
"""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from webkiln.build.files import writing
from webkiln.build.stamps import STAMPS

MEMORY = ":memory:"


class Codec(Protocol):
    encode: Callable[[Any], str]
    decode: Callable[[str], Any]


class Database:
    """The backend interface of doit. A damaged file is replaced; one that cannot be written is not
    used. Both only cost looking up results again.
    """

    desc = "sqlite, committed per task"

    def __init__(self, name: str, codec: Codec, *, module_name: str | None = None) -> None:
        del module_name
        self.name = name
        self._codec = codec
        try:
            self._connection = self._open(name)
        except sqlite3.OperationalError:  # the disk is full or read-only
            self._connection = self._open(MEMORY)
        except sqlite3.DatabaseError:
            Path(name).unlink(missing_ok=True)
            self._connection = self._open(name)

    def get(self, task_id: str, dependency: str) -> Any:
        row = self._connection.execute(
            "select value from facts where task = ? and name = ?", (task_id, dependency)
        ).fetchone()
        return None if row is None else self._codec.decode(row[0])

    def set(self, task_id: str, dependency: str, value: Any) -> None:
        row = (task_id, dependency, self._codec.encode(value))
        with suppress(sqlite3.OperationalError):
            self._connection.execute("insert or replace into facts values (?, ?, ?)", row)

    def in_(self, task_id: str) -> bool:
        return (
            self._connection.execute("select 1 from facts where task = ?", (task_id,)).fetchone()
            is not None
        )

    def remove(self, task_id: str) -> None:
        """Forgets a task. The stamps go too, so that its bundle is checked again."""
        self._discard_stamps()
        self._connection.execute("delete from facts where task = ?", (task_id,))

    def remove_all(self) -> None:
        self._discard_stamps()
        self._connection.execute("delete from facts")

    def dump(self) -> None:
        self._connection.close()

    def _discard_stamps(self) -> None:
        Path(self.name).with_name(STAMPS).unlink(missing_ok=True)

    def _open(self, name: str) -> sqlite3.Connection:
        if name != MEMORY:
            with writing(Path(name)):
                Path(name).parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            name, isolation_level=None, timeout=30, check_same_thread=False
        )
        connection.execute("pragma synchronous = off")
        connection.execute(
            "create table if not exists facts (task text, name text, value text, primary key (task,"
            " name))"
        )
        return connection
