"""Web projects as created by the tools of each kind, and a fixture that runs `webkiln init` in
one.
"""

from pathlib import Path

import pytest

from webkiln import cli

VITE_PACKAGE = """{
  "name": "app",
  "private": true,
  "version": "0.0.0",
  "type": "module",
  "scripts": {
    "dev": "vite",
    "build": "vite build"
  },
  "devDependencies": {
    "vite": "^8.3.4"
  }
}
"""
INDEX = """<!doctype html>
<html lang="en">
  <body>
    <div id="app"></div>
    <script type="module" src="/src/main.ts"></script>
  </body>
</html>
"""
TSCONFIG = """{
  "compilerOptions": {
    "target": "es2023", "module": "esnext", "lib": ["ES2023", "DOM"], "types": [],
      "skipLibCheck": true,

    /* Bundler mode */
    "moduleResolution": "bundler", "allowImportingTsExtensions": true,
      "verbatimModuleSyntax": true, "moduleDetection": "force",
      "noEmit": true,
    "strict": true, "noUnusedLocals": true, "noUnusedParameters": true,
      "erasableSyntaxOnly": true, "noFallthroughCasesInSwitch": true
  },
  "include": ["src"]
}
"""


def config(name: str, imported: str) -> str:
    return (
        f"import {imported} from '@vitejs/plugin-{name}'\nimport {{ defineConfig }} from"
        " 'vite'\n\n// https://vite.dev/config/\nexport default defineConfig({\n  plugins:"
        f" [{name}()],\n}})\n"
    )


VITE = {"package.json": VITE_PACKAGE, "index.html": INDEX, "src/main.ts": ""}
NEXT = {
    "package.json": (
        '{\n  "name": "nx",\n  "scripts": {\n    "dev": "next dev",\n    "build": "next build"\n '
        ' },\n  "dependencies": {\n    "next": "16.4.6"\n  }\n}\n'
    )
}
PROJECTS: dict[str, dict[str, str]] = {
    "vanilla": VITE,
    "vanilla-ts": {**VITE, "tsconfig.json": TSCONFIG},
    "react-ts": {
        **VITE,
        "tsconfig.json": '{ "files": [] }',
        "vite.config.ts": config("react", "react"),
    },
    "vue": {**VITE, "vite.config.js": config("vue", "vue")},
    "next-ts": {**NEXT, "tsconfig.json": "{}", "src/app/page.tsx": ""},
    "next-pages": {**NEXT, "pages/index.jsx": ""},
    "webpack-ts": {
        "package.json": '{\n  "devDependencies": {\n    "webpack": "5"\n  }\n}\n',
        "src/main.ts": "",
        "tsconfig.json": TSCONFIG,
    },
    "html": {"index.html": "<!doctype html>\n<title>Mine</title>\n"},
}


class Folder:
    """A project, and the command line in it."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.capsys = capsys

    def fill(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def files(self) -> dict[str, bytes]:
        """All files except those of bundles."""
        content = {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file()
        }
        return {
            name: data
            for name, data in content.items()
            if "webkiln/digits" not in name and "dist/" not in name
        }

    def text(self, name: str) -> str:
        return (self.root / name).read_text()

    def init(self, *arguments: str, status: int = 0) -> str:
        self.capsys.readouterr()
        assert cli.main(["init", *arguments]) == status, self.capsys.readouterr().err
        printed = self.capsys.readouterr()
        return printed.out if status == 0 else printed.err
