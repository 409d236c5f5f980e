"""Loads over a failing network: what is repeated, resumed or rejected, in all engines, with a
misbehaving server.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.hosts import BEST, PAGES, every_host, every_page
from tests.runtime.loads import Y, shard, worker_or_main
from tests.runtime.tampering import Site, in_node, in_page, serve

STALL_MS = 400


def run_scenario(site: Site, host: str, scenario: str, options: dict[str, Any]) -> Any:
    """The result of a scenario. In Node, too, the data of the bundle come from the site."""
    options = {"backends": ["wasm"], "stallTimeout": STALL_MS, **options}
    if host != "node":
        return in_page(site, scenario, options, host)
    with serve(site):
        return in_node(site.bundle, scenario, {**options, "baseURL": f"{site.url}/bundle"})


def file_name(kind: str, host: str, bundle: Path) -> str:
    return shard(bundle) if kind == "weights" else f"{BEST[host]}.wasm"


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
def test_weights_arrive_despite_faults(host: str, fault: str, bundle: Path) -> None:
    site = Site(bundle, scripts={shard(bundle): list(RECOVERED[fault])})
    assert run_scenario(site, host, "run", {"worker": host != "node"})["y"] == Y
    assert site.scripts[shard(bundle)] == []


@pytest.mark.parametrize("fault", ["dropped", "stalled", "altered"])
@pytest.mark.sample(1)
def test_weights_arrive_without_a_worker(fault: str, bundle: Path) -> None:
    site = Site(bundle, scripts={shard(bundle): list(RECOVERED[fault])})
    assert run_scenario(site, PAGES[0], "run", {"worker": False})["y"] == Y


@every_host
@pytest.mark.parametrize("fault", IN_WASM)
@pytest.mark.sample(4)
def test_code_arrives_despite_faults(host: str, fault: str, bundle: Path) -> None:
    name = file_name("wasm", host, bundle)
    steps = [step.replace("200000", "100").replace("20000", "50") for step in RECOVERED[fault]]
    assert run_scenario(Site(bundle, scripts={name: steps}), host, "run", {})["y"] == Y
    assert steps == []


@every_page
@worker_or_main
@pytest.mark.sample(2)
def test_wrong_bytes_in_the_http_cache(browser: str, worker: bool, bundle: Path) -> None:
    """The browser has cached wrong weights and code that are valid for a year. Each file is
    requested once more.
    """
    names = [shard(bundle, 0), shard(bundle, 1), file_name("wasm", browser, bundle)]
    site = Site(bundle, scripts={name: ["wrong"] for name in names})
    assert (
        run_scenario(site, browser, "fromHttpCache", {"files": names, "worker": worker})["y"] == Y
    )
    assert [site.requests.count(f"/bundle/{name}") for name in names] == [2, 2, 2]


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
"""Faults with four attempts: tested in the first browser and Node, in the others only by `make
formats`.
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
    steps, code, message = REFUSED[fault]
    site = Site(bundle, scripts={shard(bundle): list(steps)})
    result = run_scenario(site, host, "loadError", {"worker": host != "node"})
    assert result["code"] == code, result
    assert shard(bundle) in result["message"]
    assert message in result["message"]
    assert ("deploy" in result["message"]) == (code in ("MissingFile", "Truncated", "Altered"))
    assert site.scripts[shard(bundle)] == []
    assert site.requests.count(f"/bundle/{shard(bundle)}") == len(steps)


@every_page
@pytest.mark.sample(1)
def test_a_cached_copy_is_used_after_one_failure(browser: str, bundle: Path) -> None:
    name = shard(bundle)
    each = [
        {"cacheStrategy": "networkFirst", "saveCache": True},
        {"cacheStrategy": "networkFirst"},
        {"cacheStrategy": "latest"},
    ]
    site = Site(bundle, scripts={name: ["drop:200000", "right", "stall:1000", "right"]})
    assert run_scenario(site, browser, "sequence", {"each": each}) == [Y, Y, Y]
    # WebKitGTK sometimes sends one more request than the page, in about two of three runs.
    assert site.scripts[name] in ([["right"], []] if browser == "webkit" else [["right"]])


def test_a_resumed_download_is_cached(bundle: Path) -> None:
    name = shard(bundle)
    each = [{"cacheStrategy": "latest", "saveCache": True}, {"cacheStrategy": "cacheOnly"}]
    site = Site(bundle, scripts={name: ["drop:200000", "stall:20000"]})
    assert run_scenario(site, PAGES[0], "sequence", {"each": each}) == [Y, Y]
    assert site.requests.count(f"/bundle/{name}") == 3


@every_page
@pytest.mark.sample(2)
def test_modules_are_imported_again_if_the_browser_can(browser: str, bundle: Path) -> None:
    """Firefox remembers a failed import until the page or Worker ends."""
    steps = ["status:503", "status:503"]
    result = run_scenario(
        Site(bundle, scripts={"js.js": steps}), browser, "loadError", {"backends": ["js"]}
    )
    assert result["code"] == {"firefox": "MissingFile", "webkit": "MissingFile"}.get(
        browser, "no error"
    ), result
    if browser == "webkit":
        assert (
            run_scenario(
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
        result = run_scenario(site, PAGES[0], "loadError", {"backends": ["js"]})
        assert (result["code"], str(status) in result["message"]) == (code, True)


@every_page
@worker_or_main
@pytest.mark.sample(2)
def test_a_module_that_stalls(browser: str, worker: bool, bundle: Path) -> None:
    result = run_scenario(
        Site(bundle, scripts={"js.js": ["stall:0"]}),
        browser,
        "loadError",
        {"backends": ["js"], "worker": worker},
    )
    assert result["code"] == "Stalled"
    assert "js.js: nothing has arrived for 0.4 s" in result["message"]


@pytest.mark.long
@every_page
def test_a_worker_whose_script_stalls(browser: str, bundle: Path) -> None:
    result = run_scenario(
        Site(bundle, scripts={"worker.js": ["stall:0"]}), browser, "warnings", {"backends": ["js"]}
    )
    assert (result["y"], result["worker"]) == (Y, False)
    assert "did not start within 10 s" in result["messages"][0]


@pytest.mark.parametrize("host", ["node", PAGES[0]])
@pytest.mark.parametrize("value", [-1, "30", None, True])
@pytest.mark.sample(4)
def test_wrong_limits(host: str, value: Any, bundle: Path) -> None:
    result = run_scenario(Site(bundle), host, "loadError", {"stallTimeout": value})
    assert result["code"] == "WrongOption"
    assert "stallTimeout: expected milliseconds" in result["message"]
