"""The composable of docs/web-projects.md."""

from pathlib import Path

from tests.docs.pages import blocks
from tests.web import pages, project
from tests.web.rows import BASE, STRICT


def test_the_composable(tmp_path: Path) -> None:
    project.need_packages()
    root = project.copy_project(tmp_path, Path(__file__).parent / "projects" / "vue")
    (composable,) = (block for block in blocks("docs/web-projects.md") if block.marks == ("vue",))
    (root / "src" / "useModel.js").write_text(composable.text, "utf-8")
    project.run(project.command_of(root, ("build",)), root)
    with pages.deployed(root / "dist", BASE, {"Content-Security-Policy": STRICT}) as site:
        pages.check(pages.visit(site.url))
        pages.browser().execute_script("window.leave()")
        assert pages.until(
            lambda: not pages.browser().execute_script("return document.querySelector('output')")
        )
        assert pages.console() == []
