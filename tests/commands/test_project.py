"""Detection of web projects, and edits of their files where these are unambiguous."""

from pathlib import Path

import pytest

from webkiln.commands.project import find_project, with_package, with_plugin, with_script

CONFIGS = {
    "export default {};\n": (
        "import webkiln from 'unplugin-webkiln/vite'\nexport default {\n  plugins: [webkiln()],};\n"
    ),
    (
        'import { defineConfig } from "vite";\nexport default defineConfig({\n  base: "/app/",'
        " // plugins: [\n});\n"
    ): (
        'import { defineConfig } from "vite";\nimport webkiln from "unplugin-webkiln/vite";\nexport'
        ' default defineConfig({\n  plugins: [webkiln()],\n  base: "/app/", // plugins: [\n});\n'
    ),
    (
        "import {\n  defineConfig,\n} from 'vite'\nimport a from 'a'\n"
        "export default defineConfig({\n  plugins: [\n    a({ x: 1 }),\n  ],\n})\n"
    ): (
        "import {\n  defineConfig,\n} from 'vite'\nimport a from 'a'\nimport webkiln from"
        " 'unplugin-webkiln/vite'\nexport default defineConfig({\n  plugins: [\n    webkiln(),\n   "
        " a({ x: 1 }),\n  ],\n})\n"
    ),
    "export default { plugins: [] }\n": (
        "import webkiln from 'unplugin-webkiln/vite'\nexport default { plugins: [webkiln()] }\n"
    ),
    # In another position, no array, no object, or ambiguous.
    "export default { worker: { plugins: [a()] } }\n": None,
    "export default { plugins: common }\n": None,
    "export default { plugins }\n": None,
    # Later entries of an object override earlier ones.
    "export default { ...shared }\n": None,
    "export default { 'plugins': [a()] }\n": None,
    "export default defineConfig(({ mode }) => ({ plugins: [] }))\n": None,
    "const config = { plugins: [] }\nexport default config\n": None,
    "module.exports = { plugins: [] }\n": None,
}


@pytest.mark.parametrize("text", CONFIGS)
def test_a_configuration_is_edited_only_if_unambiguous(text: str) -> None:
    assert with_plugin(text, "webkiln()") == CONFIGS[text]


def test_pages_and_packages_keep_their_form() -> None:
    assert (
        with_script("<body>\n<p>x</p>\n</body>", "/m.js")
        == '<body>\n<p>x</p>\n  <script type="module" src="/m.js"></script>\n</body>'
    )
    assert with_script("<p>no end", "/m.js") is None
    assert with_script("</body></body>", "/m.js") is None
    text = (
        '{\n\t"name": "\N{LATIN SMALL LETTER E WITH ACUTE}",\n\t"devDependencies": {\n\t\t"z":'
        ' "1"\n\t}\n}'
    )
    changed = (
        '{\n\t"name": "\N{LATIN SMALL LETTER E WITH ACUTE}",\n\t"devDependencies": {\n\t\t"a":'
        ' "2",\n\t\t"z": "1"\n\t}\n}'
    )
    assert with_package(text, {"devDependencies": {"a": "2"}}) == changed
    assert with_package(text, {"devDependencies": {"z": "1"}}) == text
    assert with_package(text, {"devDependencies": {"z": "2"}}) == text.replace('"1"', '"2"')


@pytest.mark.parametrize(
    ("file", "text"),
    [("pnpm-workspace.yaml", ""), ("package.json", '{"workspaces": ["app"]}'), ("other", "")],
)
def test_the_package_manager_of_a_workspace_is_detected(
    file: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "package.json").write_text('{ "devDependencies": { "vite": "^8.3.4" } }')
    (tmp_path / file).write_text(text)
    (tmp_path / "pnpm-lock.yaml").write_text("")
    assert find_project(tmp_path / "app").manager == ("npm" if file == "other" else "pnpm")
