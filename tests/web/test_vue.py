"""The composable of docs/web-projects.md."""

from pathlib import Path

from tests.docs.pages import blocks
from tests.web import pages, project
from tests.web.rows import BASE, STRICT


def test_the_composable(tmp_path: Path) -> None:
    project.need_packages()
    place = project.lay(tmp_path, Path(__file__).parent / "projects" / "vue")
    (shown,) = (block for block in blocks("docs/web-projects.md") if block.marks == ("vue",))
    (place / "src" / "useModel.js").write_text(shown.text, "utf-8")
    project.run(project.command_of(place, ("build",)), place)
    with pages.deployed(place / "dist", BASE, {"Content-Security-Policy": STRICT}) as site:
        pages.check(pages.look(site.url))
        pages.browser().execute_script("window.leave()")
        assert pages.until(
            lambda: not pages.browser().execute_script("return document.querySelector('output')")
        )
        assert pages.console() == []
