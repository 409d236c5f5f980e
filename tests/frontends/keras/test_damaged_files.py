"""Damaged files, and files that stall or crash the reader, raise one clear error."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.frontends.keras.archives import rewritten
from tests.frontends.keras.source_errors import error_of
from webkiln.errors import SourceError, UserError
from webkiln.frontends.core import probe
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.probe import read_model
from webkiln.frontends.keras.reader import parse_model

pytestmark = pytest.mark.probes


def test_files_that_stall_the_reader(monkeypatch):
    monkeypatch.setattr(probe, "TIMEOUT_S", 2.0)
    assert "cannot be read in reasonable time" in error_of(Path(__file__).with_name("endless.h5"))


def test_the_time_limit_is_processor_time(saved, tmp_path, monkeypatch):
    """A busy machine must not make a file look damaged."""
    begin = (
        "import sys, time\nfrom pathlib import Path\nfrom webkiln.frontends.core.probe import"
        " limit_resources\nlimit_resources(Path(sys.argv[1]))\n"
    )
    (tmp_path / "waits.py").write_text(f"{begin}time.sleep(2.5)\nprint('read')")
    (tmp_path / "works.py").write_text(f"{begin}while True: pass")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(probe, "TIMEOUT_S", 1.0)
    assert probe.run_probe("waits", saved / "m.h5") == (0, "read\n")
    assert probe.run_probe("works", saved / "m.h5")[0] is None


def test_files_that_crash_the_reader(saved, monkeypatch):
    monkeypatch.setattr(probe.sys, "executable", "/bin/false")
    assert "crashes or exhausts the HDF5 library" in error_of(saved / "m.h5")


def only_user_errors(data: bytes, path: Path, read=read_model) -> None:
    path.write_bytes(data)
    try:
        model, blobs = read(path)
        KerasConverter().convert(model, blobs)
    except UserError:
        pass


QUICK = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUICK
@given(share=st.floats(0, 1), suffix=st.sampled_from(["keras", "h5"]))
def test_truncated_files(saved, tmp_path, share, suffix):
    data = (saved / f"m.{suffix}").read_bytes()
    path = tmp_path / "cut"
    path.write_bytes(data[: int(len(data) * share * 0.999)])
    with pytest.raises(SourceError):
        parse_model(path)


@QUICK
@given(
    flips=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=12
    ),
    suffix=st.sampled_from(["keras", "h5"]),
)
def test_flipped_bits(saved, tmp_path, flips, suffix):
    data = bytearray((saved / f"m.{suffix}").read_bytes())
    for place, bit in flips:
        data[int(place * len(data))] ^= 1 << bit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "TIMEOUT_S", 5.0)
        only_user_errors(
            bytes(data), tmp_path / "flipped", parse_model if suffix == "keras" else read_model
        )


@QUICK
@given(data=st.data())
def test_random_values_in_the_config(saved, tmp_path, data):
    values = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 10**12),
        st.text(max_size=4),
        st.just([]),
        st.just({}),
        st.floats(),
    )

    def edit(tree):
        node = tree
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            key = data.draw(st.sampled_from(keys))
            if isinstance(node[key], dict | list) and node[key] and data.draw(st.integers(0, 9)):
                node = node[key]
                continue
            node[key] = data.draw(values)
            return

    path = rewritten(saved / "m.keras", tmp_path / "m.keras", config=edit)
    only_user_errors(path.read_bytes(), path, parse_model)
