"""`preload` of the plugin: pages that Vite builds ask for the first weights before their code has
come, and each is fetched once.
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


def built(
    folder: Path,
    options: str,
    base: str,
    page: str = "index.html",
    assets: str = "assets/[name]-[hash][extname]",
    more: str = "",
) -> Path:
    """What Vite makes of the example, whose model is loaded in the page's thread."""
    place = project.lay(folder, project.EXAMPLES / "vite")
    build = f"{{ rollupOptions: {{ input: '{page}', output: {{ assetFileNames: '{assets}' }} }} }}"
    project.edit(
        place / "vite.config.js",
        r"webkiln\(\)\]",
        f"webkiln({options})], base: '{base}', build: {build}{more}",
    )
    project.edit(place / "src" / "main.js", r"load\(\)", "load({ worker: false })")
    if page != "index.html":
        (place / page).parent.mkdir()
        (place / "index.html").rename(place / page)
        project.edit(place / page, r"\./src/", "../src/")
    project.run("vite build", place)
    return place / "dist"


@pytest.mark.parametrize(
    ("base", "page"),
    [("/some/app/", "index.html"), ("./", "index.html"), ("./", "pages/index.html")],
)
@pytest.mark.sample("./-pages/index.html")
def test_weights_are_requested_before_the_code_arrives(
    base: str, page: str, tmp_path: Path
) -> None:
    project.need_packages()
    dist = built(tmp_path, "{ preload: true }", base, page)
    hrefs = LINK.findall((dist / page).read_text("utf-8"))
    weights = sorted(path.name for path in dist.rglob("weights-*.bin"))
    assert sorted(href.rsplit("/", 1)[-1] for href in hrefs) == weights != []
    with pages.deployed(dist, "/some/app/", {}) as site:
        seen = pages.look(f"{site.url}{page.removesuffix('index.html')}")
        times = {
            name.rsplit("/", 1)[-1]: found for name, *found in pages.browser().execute_script(TIMES)
        }
        pages.browser().get("about:blank")
    assert (seen.label, seen.how, seen.said) == ("6", "wasm, relaxed, in the main thread", ())
    code = min(end for name, (_, end, _) in times.items() if name.endswith(".js"))
    for name in weights:
        begin, _, initiator = times[name]
        assert initiator == "link"
        assert begin < code
        assert [path.rsplit("/", 1)[-1] for path in site.asked].count(name) == 1


@pytest.mark.parametrize(
    ("base", "more", "expected"),
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
    base: str, more: str, expected: str, tmp_path: Path
) -> None:
    """Files have names by their bytes alone."""
    project.need_packages()
    dist = built(tmp_path, "{ preload: true }", base, assets="data/[hash][extname]", more=more)
    names = [path.name for path in dist.rglob("*.bin")]
    assert names != []
    assert LINK.findall((dist / "index.html").read_text("utf-8")) == [
        expected + name for name in names
    ]


def test_pages_without_preload_request_nothing(tmp_path: Path) -> None:
    project.need_packages()
    assert not LINK.search((built(tmp_path, "", "/") / "index.html").read_text("utf-8"))
