"""The environment of stages, and its part in keys."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.build.faulty_remote import faulty
from tests.build.proxies import connect_proxy, create_certificate, tls_proxy
from tests.build.tree import REPOSITORY
from webkiln import canonical
from webkiln.build import system_paths
from webkiln.build.derived import Derived
from webkiln.build.environment import environment, keyed
from webkiln.build.file_stamps import TICK_SECONDS
from webkiln.build.tools import Toolchain, find, read_version

SHELL = {
    "PATH": "/opt/strange/bin",
    "HOME": "/home/me",
    "WEBKILN_WIDTH": "7",
    "PYTHONHASHSEED": "7",
    "EM_LLVM_ROOT": "/opt/llvm",
    "EMSDK_NODE": "/opt/node",
    "SE_OFFLINE": "true",
    "EMSDK": "/opt/emsdk",
    "LANG": "de_DE.UTF-8",
    "HTTPS_PROXY": "http://proxy:3128",
    "SSL_CERT_FILE": "/etc/mine.pem",
    "EDITOR": "vi",
    "VIRTUAL_ENV": "/venv",
    "TMPDIR": "/scratch",
    "WEBKILN_COMPILER": "zig",
}


def test_stages_get_only_variables_that_locate_tools() -> None:
    variables = environment(Path("/home/stage"), Path("/pipeline"), SHELL)
    assert variables["PATH"] == "/opt/strange/bin"
    assert variables["EMSDK"] == "/opt/emsdk"
    assert variables["WEBKILN_COMPILER"] == "zig"
    assert variables["HOME"] == "/home/stage"
    assert variables["PYTHONHASHSEED"] == "0"
    assert variables["LANG"] == "C.UTF-8"
    assert (
        not {"WEBKILN_WIDTH", "EM_LLVM_ROOT", "EMSDK_NODE", "SE_OFFLINE", "EDITOR", "VIRTUAL_ENV"}
        & variables.keys()
    )


def test_user_code_finds_only_system_programs() -> None:
    variables = environment(Path("/home/stage"), Path("/pipeline"), SHELL, foreign=True)
    assert str(Path(sys.executable).parent) in variables["PATH"].split(os.pathsep)
    assert "/opt/strange/bin" not in variables["PATH"]
    assert not {"EMSDK", "WEBKILN_COMPILER"} & variables.keys()
    assert variables["HTTPS_PROXY"] == "http://proxy:3128"


def test_variables_in_keys() -> None:
    assert keyed(SHELL, reaches_network=False) == {}
    keyed_variables = keyed(
        {**SHELL, "HTTPS_PROXY": "http://me:secret@proxy:3128"}, reaches_network=True
    )
    assert keyed_variables.keys() == {"HTTPS_PROXY", "SSL_CERT_FILE"}
    assert "secret" not in str(keyed_variables)
    assert keyed_variables != keyed(SHELL, reaches_network=True)
    assert keyed({"LD_LIBRARY_PATH": "/opt/lib"}, reaches_network=False) == {
        "LD_LIBRARY_PATH": "/opt/lib"
    }


def test_the_identity_of_a_compiler_is_all_its_version_lines() -> None:
    assert "clang version " in read_version("clang", find("clang"))
    version, clang = read_version("emcc", find("emcc")).split("; ")
    assert version[:1].isdigit()
    assert clang == read_version("clang", find("clang")), "the one that emcc runs"


def install(site: Path, version: str) -> None:
    """Replace a distribution by this version, as pip does."""
    for old in site.glob("small-*.dist-info"):
        shutil.rmtree(old)
    folder = site / f"small-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: small\nVersion: {version}\n")


@pytest.mark.parametrize("pause", [0.0, 2 * TICK_SECONDS])
def test_upgrading_a_distribution_during_a_build_is_noticed(
    pause: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = Toolchain(REPOSITORY, Derived(tmp_path / "derived.json"), installed=True)
    monkeypatch.syspath_prepend(site := tmp_path / "site")
    site.mkdir()
    assert tools.actual(["small"]) == {"small": "absent"}
    for version in ("1.0", "1.1", "2.0"):
        time.sleep(pause)
        install(site, version)
        assert tools.actual(["small"]) == {"small": version}
        assert tools.locked(["small"]) == {"small": version}


@pytest.mark.parametrize("pause", [0.0, 2 * TICK_SECONDS])
def test_upgrading_a_compiler_during_a_build_is_noticed(
    pause: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv("EMSDK", raising=False)
    tools = Toolchain(REPOSITORY, Derived(tmp_path / "derived.json"), installed=True)
    facts = tools.actual(["clang"])
    assert facts == tools.actual(["clang"])
    for version in ("1.0", "1.1", "2.0"):
        for name in ("clang-19", "wasm-ld-19"):
            time.sleep(pause)
            (folder / name).write_text(f"#!/bin/sh\necho clang version {version}, LLD\n")
            (folder / name).chmod(0o755)
        assert tools.actual(["clang"]) == {"clang": f"clang version {version}, LLD"}
    shutil.rmtree(folder)
    assert tools.actual(["clang"]) == facts


DOWNLOAD = """
import runpy, sys
from pathlib import Path
stage, url, sha256, target = sys.argv[1:]
runpy.run_path(stage)["run"]({}, {"source": Path(target)},
  {"kind": "url", "url": url, "sha256": sha256})
"""


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_downloads_have_the_users_proxy_and_authorities(variable: str, tmp_path: Path) -> None:
    certificate, data, target = create_certificate(tmp_path), b"weights", tmp_path / "source"
    with faulty() as server, connect_proxy("me:token") as (proxy, addresses):
        server.objects["weights.h5"] = data
        with tls_proxy(urlsplit(server.url).port or 0, certificate, "http/1.1") as port:
            shell = {
                variable: str(certificate.authority),
                "HTTPS_PROXY": f"http://me:token@127.0.0.1:{proxy}",
            }
            variables = environment(tmp_path / "home", REPOSITORY / "pipeline", shell)
            url = f"https://localhost:{port}/weights.h5"
            command = [
                sys.executable,
                "-c",
                DOWNLOAD,
                REPOSITORY / "stages" / "fetch.py",
                url,
                canonical.digest(data),
                target,
            ]
            subprocess.run(command, env=variables, check=True, timeout=60)
    assert target.read_bytes() == data
    assert addresses == [f"localhost:{port}"]


def test_packages_reached_through_a_link_count_as_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A virtual environment may be a link, and libraries may be opened by their real paths."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setattr("sys.prefix", str(tmp_path / "link"))
    assert {str(tmp_path / "link"), str(tmp_path / "real")} <= {*system_paths.python_folders()}
