"""The plugin's option `preload`: pages built by Vite request the first weights before their code
arrives, and request each file once.
"""

import re
from pathlib import Path

import pytest

from tests.web import pages, project

TIMES = """
return performance.getEntriesByType('resource')
  .map(({ name, startTime, responseEnd, initiatorType }) =>
  [name, startTime, responseEnd, initiatorType]);
"""
LINK = re.compile(r'<link rel="preload" as="fetch" crossorigin="anonymous" href="([^"]+)">')


def build_example(
    folder: Path,
    options: str,
    base: str,
    page: str = "index.html",
    assets: str = "assets/[name]-[hash][extname]",
    settings: str = "",
) -> Path:
    """Build the Vite example with the model in the main thread. Returns the output folder."""
    root = project.copy_project(folder, project.EXAMPLES / "vite")
    build = f"{{ rollupOptions: {{ input: '{page}', output: {{ assetFileNames: '{assets}' }} }} }}"
    project.edit(
        root / "vite.config.js",
        r"webkiln\(\)\]",
        f"webkiln({options})], base: '{base}', build: {build}{settings}",
    )
    project.edit(root / "src" / "main.js", r"load\(\)", "load({ worker: false })")
    if page != "index.html":
        (root / page).parent.mkdir()
        (root / "index.html").rename(root / page)
        project.edit(root / page, r"\./src/", "../src/")
    project.run("vite build", root)
    return root / "dist"


@pytest.mark.parametrize(
    ("base", "page"),
    [("/some/app/", "index.html"), ("./", "index.html"), ("./", "pages/index.html")],
)
@pytest.mark.sample("./-pages/index.html")
def test_weights_are_requested_before_the_code_arrives(
    base: str, page: str, tmp_path: Path
) -> None:
    project.need_packages()
    dist = build_example(tmp_path, "{ preload: true }", base, page)
    hrefs = LINK.findall((dist / page).read_text("utf-8"))
    weights = sorted(path.name for path in dist.rglob("weights-*.bin"))
    assert sorted(href.rsplit("/", 1)[-1] for href in hrefs) == weights != []
    with pages.deployed(dist, "/some/app/", {}) as site:
        result = pages.visit(f"{site.url}{page.removesuffix('index.html')}")
        times = {
            name.rsplit("/", 1)[-1]: timing
            for name, *timing in pages.browser().execute_script(TIMES)
        }
        pages.browser().get("about:blank")
    assert (result.label, result.how, result.messages) == (
        "6",
        "wasm, relaxed, in the main thread",
        (),
    )
    code = min(end for name, (_, end, _) in times.items() if name.endswith(".js"))
    for name in weights:
        begin, _, initiator = times[name]
        assert initiator == "link"
        assert begin < code
        assert [path.rsplit("/", 1)[-1] for path in site.requests].count(name) == 1


@pytest.mark.parametrize(
    ("base", "settings", "expected"),
    [
        ("https://cdn.example/a/", "", "https://cdn.example/a/data/"),
        (
            "/",
            ", experimental: { renderBuiltUrl: file => `https://cdn.example/${file}` }",
            "https://cdn.example/data/",
        ),
        ("/", ", experimental: { renderBuiltUrl: () => ({ relative: true }) }", "data/"),
        (
            "/",
            (
                ", experimental: { renderBuiltUrl: (file, { hostType }) => (hostType === 'js' ? {"
                " runtime: JSON.stringify(file) } : undefined) }"
            ),
            "/data/",
        ),
    ],
)
@pytest.mark.sample(2)
def test_preload_links_use_the_names_that_vite_emits(
    base: str, settings: str, expected: str, tmp_path: Path
) -> None:
    """The names of files depend only on their content."""
    project.need_packages()
    dist = build_example(
        tmp_path, "{ preload: true }", base, assets="data/[hash][extname]", settings=settings
    )
    names = [path.name for path in dist.rglob("*.bin")]
    assert names != []
    assert LINK.findall((dist / "index.html").read_text("utf-8")) == [
        expected + name for name in names
    ]


def test_pages_without_preload_request_nothing(tmp_path: Path) -> None:
    project.need_packages()
    assert not LINK.search((build_example(tmp_path, "", "/") / "index.html").read_text("utf-8"))
