"""The handling of missing, wrong, damaged and forbidden files by a load, in all engines."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hosts import BEST, every_host, every_page
from tests.runtime.damage import alter, rebuild, truncate
from tests.runtime.loads import Y, shard, worker_or_main
from tests.runtime.tampering import Site, in_node, in_page, perform, serve

STRICT = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; worker-src 'self'; img-src data:"
)
WASM_ONLY = STRICT.replace("script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'")


@every_host
@worker_or_main
@pytest.mark.parametrize("backend", ["wasm", "js"])
@pytest.mark.sample(2)
def test_concurrent_loads(host: str, worker: bool, backend: str, bundle: Path) -> None:
    result = perform(host, bundle, "concurrent", {"worker": worker, "backends": [backend]})
    assert result == {"results": [Y] * 3, "codes": ["MissingFile", "Aborted"]}


@every_page
@pytest.mark.parametrize("worker", [True, False], ids=["worker", "main"])
@pytest.mark.sample(2)
def test_each_file_is_requested_once(browser: str, worker: bool, bundle: Path) -> None:
    """Modules are an exception: a page and its Worker each request one, unless the HTTP cache may
    store it.
    """
    site = Site(bundle)
    in_page(site, "run", {"backends": ["wasm"], "worker": worker}, browser)
    requests = [path for path in site.requests if path.startswith("/bundle/")]
    data = [path for path in requests if not path.endswith(".js")]
    assert len(data) == len(set(data)) == 3
    assert requests.count("/bundle/wasm.js") == 1


@every_host
@worker_or_main
@pytest.mark.sample(2)
def test_modules_may_be_rewritten(host: str, worker: bool, bundle_copy: Path) -> None:
    """Bundlers and dev servers rewrite modules."""
    for module in bundle_copy.glob("*.js"):
        module.write_text("/* rewritten */\n" + module.read_text("utf-8"), "utf-8")
    for backend in ("wasm", "js"):
        result = perform(host, bundle_copy, "run", {"worker": worker, "backends": [backend]})
        assert (result["y"], result["backend"]) == (Y, backend)


@every_host
@pytest.mark.sample(1)
def test_damaged_backend_falls_back_with_a_warning(host: str, bundle_copy: Path) -> None:
    rebuild(bundle_copy / "wasm.js")
    result = perform(host, bundle_copy, "warnings", {"backends": ["webgpu", "wasm", "js"]})
    assert (result["y"], result["backend"]) == (Y, "js")
    assert [failure["code"] for failure in result["failures"]] == ["Altered"]
    assert len(result["messages"]) == 1
    assert "wasm.js" in result["messages"][0]


@every_host
@pytest.mark.sample(1)
def test_failure_of_all_backends_lists_the_reasons(host: str, bundle_copy: Path) -> None:
    rebuild(bundle_copy / "wasm.js")
    (bundle_copy / "js.js").unlink()
    result = perform(host, bundle_copy, "loadError", {"backends": ["wasm", "js"]})
    assert result["code"] == "NoBackend"
    assert "wasm: wasm.js" in result["message"]
    assert "js: js.js" in result["message"]


@every_host
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"backends": ["cuda"]}, "UnknownBackend", "'webgpu', 'wasm', 'webgl', 'js'"),
        ({"backends": ["webgl"]}, "NoBackend", "it has 'js', 'wasm'"),
        ({"backends": []}, "NoBackend", "none of the backends"),
        ({"backends": "wasm", "variant": "avx"}, "UnknownVariant", "'relaxed', 'simd'"),
        ({"variant": "foo"}, "UnknownVariant", "no variant 'foo' of 'wasm', 'js'"),
        ({"variant": "simd", "backends": "js"}, "UnknownVariant", "the variants are none"),
        ({"backend": "wasm"}, "WrongOption", "did you mean 'backends'?"),
        ({"threads": 0}, "WrongOption", "'auto' or an integer of at least 1, got 0"),
        ({"cacheStrategy": "never"}, "WrongOption", "'networkOnly'"),
        ({"stallTimeout": "30"}, "WrongOption", "stallTimeout: expected milliseconds, or 0"),
    ],
)
@pytest.mark.sample(10)
def test_wrong_options(
    host: str, options: dict[str, Any], code: str, message: str, bundle: Path
) -> None:
    result = perform(host, bundle, "loadError", options)
    assert result["code"] == code
    assert message in result["message"]


@every_host
@pytest.mark.parametrize("worker", [True, False], ids=["worker", "main"])
@pytest.mark.parametrize(
    "case",
    [
        ("weights", "page", "WrongType"),
        ("weights", "broken", "Unavailable"),
        ("weights", "missing", "MissingFile"),
        ("wasm", "page", "WrongType"),
        ("wasm", "type:text/plain", "WrongType"),
        ("wasm", "broken", "Unavailable"),
    ],
)
@pytest.mark.sample(6)
def test_misbehaving_server(
    host: str, worker: bool, case: tuple[str, str, str], bundle: Path
) -> None:
    kind, fault, code = case
    name = shard(bundle) if kind == "weights" else f"{BEST[host]}.wasm"
    options: dict[str, Any] = {"worker": worker, "backends": ["wasm"]}
    site = Site(bundle, {name: fault})
    if host != "node":
        result = in_page(site, "loadError", options, host)
    else:
        with serve(site):
            result = in_node(bundle, "loadError", {**options, "baseURL": f"{site.url}/bundle"})
    assert result["code"] == code, result
    assert name in result["message"]


@every_page
@pytest.mark.parametrize("fault", ["type:text/plain", "page", "broken"])
@pytest.mark.sample(3)
def test_misserved_module(browser: str, fault: str, bundle: Path) -> None:
    result = in_page(Site(bundle, {"js.js": fault}), "loadError", {"backends": ["js"]}, browser)
    # Some engines run the part of a truncated script that arrived.
    messages = {
        "MissingFile": "js.js could not be imported",
        **({"Altered": "js.js belongs to another build"} if fault == "broken" else {}),
    }
    assert result["code"] in messages, result
    assert messages[result["code"]] in result["message"]


@every_host
@pytest.mark.parametrize("build", ["stale", "shorter"])
@pytest.mark.sample(3)
def test_stale_code_is_requested_again(host: str, build: str, bundle: Path) -> None:
    """The server imitates an HTTP cache with an earlier build of the same or a smaller size, which
    it serves unless the request revalidates.
    """
    site = Site(bundle, dict.fromkeys(("relaxed.wasm", "simd.wasm"), build))
    if host != "node":
        result = in_page(site, "run", {"backends": ["wasm"]}, host)
    else:
        with serve(site):
            result = in_node(
                bundle, "run", {"backends": ["wasm"], "baseURL": site.url + "/bundle/"}
            )
    assert result["y"] == Y


@every_host
@worker_or_main
@pytest.mark.sample(3)
def test_stalled_server_can_be_aborted(host: str, worker: bool, bundle: Path) -> None:
    site = Site(bundle, {shard(bundle): "stalled"})
    if host != "node":
        assert in_page(site, "abortStalled", {"worker": worker}, host) == "Aborted"
    else:
        with serve(site):
            assert (
                in_node(
                    bundle, "abortStalled", {"worker": worker, "baseURL": site.url + "/bundle/"}
                )
                == "Aborted"
            )


@every_host
@pytest.mark.sample(1)
def test_unreachable_server(host: str, bundle: Path) -> None:
    result = perform(
        host, bundle, "loadError", {"backends": ["js"], "baseURL": "http://127.0.0.1:9/"}
    )
    assert result["code"] == "Unavailable"
    assert "could not be fetched" in result["message"]
    assert "attempt 4 of 4" in result["message"]


@every_host
@pytest.mark.sample(2)
def test_missing_worker_script(host: str, bundle_copy: Path) -> None:
    (bundle_copy / "worker.js").unlink()
    result = perform(host, bundle_copy, "warnings", {"backends": ["js"]})
    assert (result["y"], result["worker"]) == (Y, False)
    assert len(result["messages"]) == 1
    assert "main thread" in result["messages"][0]


@pytest.mark.parametrize(
    ("damage", "code"), [(alter, "no error"), (truncate, "Truncated")], ids=["altered", "truncated"]
)
def test_without_digests_the_length_is_checked(
    damage: Callable[[Path], None], code: str, bundle_copy: Path
) -> None:
    damage(bundle_copy / shard(bundle_copy))
    assert in_node(bundle_copy, "unhashed", {"backends": ["js"]})["code"] == code


@every_page
@worker_or_main
@pytest.mark.parametrize(
    ("policy", "backend", "code"),
    [
        (STRICT, "js", None),
        (WASM_ONLY, "wasm", None),
        (WASM_ONLY, "js", None),
        (STRICT, "wasm", "CompileFailed"),
    ],
)
@pytest.mark.sample(4)
def test_content_security_policy(
    browser: str, worker: bool, policy: str, backend: str, code: str | None, bundle: Path
) -> None:
    site = Site(bundle, headers={"Content-Security-Policy": policy})
    options = {"worker": worker, "backends": [backend]}
    if code is None:
        result = in_page(site, "run", options, browser)
        assert (result["y"], result["worker"]) == (Y, worker)
    else:
        assert in_page(site, "loadError", options, browser)["code"] == code


@every_page
@pytest.mark.sample(1)
def test_only_the_chosen_variant_is_downloaded(browser: str, bundle: Path) -> None:
    site = Site(bundle)
    in_page(site, "run", {"backends": ["wasm"]}, browser)
    assert "/bundle/relaxed.wasm" in site.requests
    assert not {
        "/bundle/simd.wasm",
        "/bundle/js.js",
        "/bundle/webdnn.js",
        "/bundle/profile.js",
    } & set(site.requests)


@every_page
@worker_or_main
@pytest.mark.parametrize("backend", ["wasm", "js"])
@pytest.mark.sample(3)
def test_files_inside_urls_need_no_other_policy(
    browser: str, worker: bool, backend: str, bundle: Path
) -> None:
    site = Site(bundle, headers={"Content-Security-Policy": WASM_ONLY})
    result = in_page(site, "inlined", {"worker": worker, "backends": [backend]}, browser)
    assert (result["y"], result["backend"]) == (Y, backend)


OTHER_ORIGIN = (
    "default-src 'none'; script-src 'self' http://localhost:* 'wasm-unsafe-eval'; connect-src"
    " 'self' http://localhost:*"
)


@every_page
@pytest.mark.parametrize(
    ("policy", "worker"),
    [
        (None, True),
        (f"{OTHER_ORIGIN}; worker-src blob: http://localhost:*", True),
        (f"{OTHER_ORIGIN}; worker-src 'self'", False),
    ],
    ids=["no policy", "blob", "no blob"],
)
@pytest.mark.parametrize("backend", ["wasm", "js"])
@pytest.mark.sample(3)
def test_a_bundle_of_another_origin(
    browser: str, policy: str | None, worker: bool, backend: str, bundle: Path
) -> None:
    headers = {
        "Access-Control-Allow-Origin": "*",
        **({"Content-Security-Policy": policy} if policy else {}),
    }
    result = in_page(
        Site(bundle, headers=headers, host="localhost"),
        "warnings",
        {"backends": [backend]},
        browser,
    )
    assert (result["y"], result["backend"], result["worker"]) == (Y, backend, worker)
    assert len(result["messages"]) == (0 if worker else 1)
