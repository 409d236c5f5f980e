"""Loads over a network that fails: what is repeated, resumed or refused, in every engine, from a
server that misbehaves.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.hosts import BEST, PAGES, every_host, every_page
from tests.runtime.loads import Y, places, shard
from tests.runtime.tampering import Site, in_node, in_page, serve

STALL_MS = 400


def loaded(site: Site, host: str, scenario: str, options: dict[str, Any]) -> Any:
    """What a scenario gives; the bundle's data come from the site in Node, too."""
    options = {"backends": ["wasm"], "stallTimeout": STALL_MS, **options}
    if host != "node":
        return in_page(site, scenario, options, host)
    with serve(site):
        return in_node(site.bundle, scenario, {**options, "baseURL": f"{site.url}/bundle"})


def named(which: str, host: str, bundle: Path) -> str:
    return shard(bundle) if which == "weights" else f"{BEST[host]}.wasm"


RECOVERED = {
    "dropped": ["drop:200000", "drop:20000"],
    "dropped before the first byte": ["drop:0"],
    "failed": ["status:503", "status:502"],
    "busy": ["busy:0"],
    "stalled": ["stall:200000"],
    "stalled before the first byte": ["stall:0"],
    "without ranges": ["drop:200000", "whole"],
    "compressed": ["gzip:100000", "gzip"],
    "tagged anew": ["drop:200000", "tag"],
    "altered": ["wrong"],
}
IN_WASM = ("dropped", "failed", "stalled", "altered")


@every_host
@pytest.mark.parametrize("fault", RECOVERED)
@pytest.mark.sample(10)
def test_weights_arrive_nevertheless(host: str, fault: str, bundle: Path) -> None:
    site = Site(bundle, scripts={shard(bundle): list(RECOVERED[fault])})
    assert loaded(site, host, "run", {"worker": host != "node"})["y"] == Y
    assert site.scripts[shard(bundle)] == []


@pytest.mark.parametrize("fault", ["dropped", "stalled", "altered"])
@pytest.mark.sample(1)
def test_weights_arrive_without_a_worker(fault: str, bundle: Path) -> None:
    site = Site(bundle, scripts={shard(bundle): list(RECOVERED[fault])})
    assert loaded(site, PAGES[0], "run", {"worker": False})["y"] == Y


@every_host
@pytest.mark.parametrize("fault", IN_WASM)
@pytest.mark.sample(4)
def test_code_arrives_nevertheless(host: str, fault: str, bundle: Path) -> None:
    name = named("wasm", host, bundle)
    steps = [step.replace("200000", "100").replace("20000", "50") for step in RECOVERED[fault]]
    assert loaded(Site(bundle, scripts={name: steps}), host, "run", {})["y"] == Y
    assert steps == []


@every_page
@places
@pytest.mark.sample(2)
def test_wrong_bytes_in_the_http_cache(browser: str, worker: bool, bundle: Path) -> None:
    """The browser has kept wrong weights and code, which it may for a year: it asks for each once
    more.
    """
    names = [shard(bundle, 0), shard(bundle, 1), named("wasm", browser, bundle)]
    site = Site(bundle, scripts={name: ["wrong"] for name in names})
    assert loaded(site, browser, "kept", {"files": names, "worker": worker})["y"] == Y
    assert [site.asked.count(f"/bundle/{name}") for name in names] == [2, 2, 2]


REFUSED = {
    "dropped": (["drop:1000"] * 4, "Unavailable", "(attempt 4 of 4)"),
    "failed": (["status:503"] * 4, "Unavailable", "responded with 503"),
    "limited": (["busy:3600"], "Unavailable", "Retry-After: 3600"),
    "missing": (["status:404"], "MissingFile", "(404)"),
    "forbidden": (["status:403"], "Refused", "(403)"),
    "stalled": (["stall:1000"] * 4, "Stalled", "in 0.4 s"),
    "shorter": (["short:1000"] * 2, "Truncated", "got 1000"),
    "altered": (["wrong"] * 2, "Altered", "bypassing the HTTP cache"),
    "deployed meanwhile": (
        ["drop:200000", "changed", "changed"],
        "Altered",
        "differs from the manifest",
    ),
}
SLOW = ("dropped", "failed", "stalled")
"""What is tried four times: in the first browser and Node, in the others by `make formats` alone.
"""


def refused_rows() -> list[Any]:
    return [
        pytest.param(
            host, fault, marks=[pytest.mark.long] if host in PAGES[1:] and fault in SLOW else []
        )
        for host in ("node", *PAGES)
        for fault in REFUSED
    ]


@pytest.mark.parametrize(("host", "fault"), refused_rows())
@pytest.mark.sample(9)
def test_errors_state_the_cause(host: str, fault: str, bundle: Path) -> None:
    steps, code, part = REFUSED[fault]
    site = Site(bundle, scripts={shard(bundle): list(steps)})
    got = loaded(site, host, "loadError", {"worker": host != "node"})
    assert got["code"] == code, got
    assert shard(bundle) in got["message"]
    assert part in got["message"]
    assert ("deploy" in got["message"]) == (code in ("MissingFile", "Truncated", "Altered"))
    assert site.scripts[shard(bundle)] == []
    assert site.asked.count(f"/bundle/{shard(bundle)}") == len(steps)


@every_page
@pytest.mark.sample(1)
def test_a_stored_copy_stands_in_after_one_failure(browser: str, bundle: Path) -> None:
    name = shard(bundle)
    each = [
        {"cacheStrategy": "networkFirst", "saveCache": True},
        {"cacheStrategy": "networkFirst"},
        {"cacheStrategy": "latest"},
    ]
    site = Site(bundle, scripts={name: ["drop:200000", "right", "stall:1000", "right"]})
    assert loaded(site, browser, "inTurn", {"each": each}) == [Y, Y, Y]
    # WebKitGTK may make one request more than the page, seen in two runs of three.
    assert site.scripts[name] in ([["right"], []] if browser == "webkit" else [["right"]])


def test_what_was_resumed_is_stored(bundle: Path) -> None:
    name = shard(bundle)
    each = [{"cacheStrategy": "latest", "saveCache": True}, {"cacheStrategy": "cacheOnly"}]
    site = Site(bundle, scripts={name: ["drop:200000", "stall:20000"]})
    assert loaded(site, PAGES[0], "inTurn", {"each": each}) == [Y, Y]
    assert site.asked.count(f"/bundle/{name}") == 3


@every_page
@pytest.mark.sample(2)
def test_modules_are_imported_again_where_the_browser_does_so(browser: str, bundle: Path) -> None:
    """Firefox remembers that an import failed for as long as the page or Worker lives."""
    steps = ["status:503", "status:503"]
    got = loaded(Site(bundle, scripts={"js.js": steps}), browser, "loadError", {"backends": ["js"]})
    assert got["code"] == {"firefox": "MissingFile", "webkit": "MissingFile"}.get(
        browser, "no error"
    ), got
    if browser == "webkit":
        assert (
            loaded(
                Site(bundle, scripts={"js.js": ["status:503"]}),
                browser,
                "run",
                {"backends": ["js"]},
            )["y"]
            == Y
        )


def test_a_module_that_the_server_refuses(bundle: Path) -> None:
    for status, code in ((404, "MissingFile"), (403, "Refused")):
        site = Site(bundle, scripts={"js.js": [f"status:{status}"] * 3})
        got = loaded(site, PAGES[0], "loadError", {"backends": ["js"]})
        assert (got["code"], str(status) in got["message"]) == (code, True)


@every_page
@places
@pytest.mark.sample(2)
def test_a_module_that_stalls(browser: str, worker: bool, bundle: Path) -> None:
    got = loaded(
        Site(bundle, scripts={"js.js": ["stall:0"]}),
        browser,
        "loadError",
        {"backends": ["js"], "worker": worker},
    )
    assert got["code"] == "Stalled"
    assert "js.js: nothing has arrived for 0.4 s" in got["message"]


@pytest.mark.long
@every_page
def test_a_worker_whose_script_stalls(browser: str, bundle: Path) -> None:
    got = loaded(
        Site(bundle, scripts={"worker.js": ["stall:0"]}), browser, "warnings", {"backends": ["js"]}
    )
    assert (got["y"], got["worker"]) == (Y, False)
    assert "did not start within 10 s" in got["warned"][0]


@pytest.mark.parametrize("host", ["node", PAGES[0]])
@pytest.mark.parametrize("value", [-1, "30", None, True])
@pytest.mark.sample(4)
def test_wrong_limits(host: str, value: Any, bundle: Path) -> None:
    got = loaded(Site(bundle), host, "loadError", {"stallTimeout": value})
    assert got["code"] == "WrongOption"
    assert "stallTimeout: expected milliseconds" in got["message"]
