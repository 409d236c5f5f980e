"""The DAG of one model, in the order its data flows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from webkiln.backends import browsers
from webkiln.build.action import Action, Each, Folder, Input, Local, Modules, Product
from webkiln.build.names import VARIANTS, single_file
from webkiln.build.share import Share
from webkiln.build.tools import tool_of
from webkiln.frontends.keras.eras.shards import shard_files
from webkiln.frontends.onnx.external import external_files
from webkiln.passes.pipeline import PASSES
from webkiln.recipe import ExportSource, LabelsFile, ModuleSource, PathSource, Recipe, UrlSource

BROWSERS = (*browsers.BROWSERS, "node")
COMPILERS = ("emcc", "clang")
WEIGHTS = "weights.h5"
"""What the weights of an architecture are called in the build."""
LINKERS = ("emcc", "wasm-ld")


@dataclass(frozen=True)
class Selection:
    """One encoding of a model for some backends; with `layers` every layer's output is kept for inspection."""

    backends: tuple[str, ...]
    encoding: str = "float32"
    layers: bool = False

    @property
    def suffix(self) -> str:
        parts = [self.encoding] if self.encoding != "float32" else []
        return "".join(f":{part}" for part in (*parts, *(["layers"] if self.layers else [])))


class ModelGraph:
    """The actions of one recipe. Equal tasks are one object, so encodings and browsers share what they share."""

    def __init__(self, recipe: Recipe, share: Share, passes: tuple[str, ...] = PASSES) -> None:
        self.recipe = recipe
        self._passes = passes
        self._share = share
        self._actions: dict[str, Action] = {}

    def actions(self) -> Iterator[Action]:
        """Everything asked for so far, producers before consumers."""
        yield from self._actions.values()

    def fetch(self) -> Action:
        source = self.recipe.source
        inputs: dict[str, Input] = {}
        params: dict[str, Any] = {}
        code: tuple[Path, ...] = ()
        beside = self._beside
        outputs: tuple[str, ...] = ("source", "external/") if self.recipe.is_onnx or beside else ("source",)
        match source:
            case PathSource(path):
                inputs, params = {"source": Local(path)}, {"kind": "path"}
                if beside:
                    inputs["external/"] = Folder(tuple(beside))
            case UrlSource(url, sha256):
                params = {"kind": "url", "url": url, "sha256": sha256}
            case ExportSource(script, function, parameters):
                inputs = {"script.py": Local(script)}
                params = {"kind": "export", "function": function, "parameters": dict(parameters)}
                code = (script,)
            case ModuleSource():
                inputs, params = self._modules(), {"kind": "module", **self._function()}
        return self._add("fetch", "", inputs, outputs, params, code=code, timeout=1800)

    def labels(self) -> dict[str, Input]:
        """The file of labels, where there is one."""
        if (file := self.recipe.labels_file) is None:
            return {}
        params = {"kind": "labels", "url": file.url, "sha256": file.sha256}
        return {"labels": Product(self._add("fetch", ":labels", {}, ("source",), params, timeout=1800, roots=()), "source")}

    def load(self) -> Action:
        if self.recipe.is_onnx:
            outputs, source = ("spec.json", "weights/"), self._source_name()
            return self._add("load", "", self._model(), outputs, self._cut(), program="load_onnx", source=source)
        inputs = {**self._model(), **self._plugins(), **self._modules()}
        own = {**self._function(), **self._weights_name(), **self._cut()}
        params = {"trust_source": self.recipe.trust_source, "plugins": self._plugin_names(), **own}
        outputs = ("spec.json", "weights/")
        return self._add("load", "", inputs, outputs, params, code=self.recipe.plugins, source=self._source_name())

    def convert(self) -> Action:
        inputs = {"spec.json": Product(self.load(), "spec.json"), **self._plugins(), **self._operators()}
        params = {"name": self.recipe.name, "plugins": self._plugin_names()}
        if self.recipe.operators:
            params["backends"] = list(self.recipe.backends)
        outputs: tuple[str, ...] = ("graph.json", "weights.json", "sizes.json")
        code = (*self.recipe.plugins, *self.recipe.operators)
        if self.recipe.is_onnx:
            return self._add("convert", "", inputs, outputs, {**params, **self._sizes()}, code=code, program="convert_onnx")
        outputs = (*outputs, "texts.json")
        return self._add("convert", "", {**inputs, **self._modules()}, outputs, {**params, **self._shapes(), **self._function()}, code=code)

    def structure(self) -> Input:
        """The graph as the source has it."""
        return Product(self.convert(), "graph.json")

    def weights(self) -> Mapping[str, Input]:
        return {"weights.json": Product(self.convert(), "weights.json"), "weights/": Product(self.load(), "weights/")}

    def texts(self) -> Mapping[str, Input]:
        """How texts become the indices that the model takes, of sources that may say so."""
        return {} if self.recipe.is_onnx else {"texts.json": Product(self.convert(), "texts.json")}

    def optimize(self) -> Input:
        """The graph after the last pass; each pass is an action of its own, keyed by that pass's code."""
        last = self.structure()
        for name in self._passes:
            code = (self._share.package / "passes" / f"{name}.py", *self.recipe.operators)
            inputs = {"graph.json": last, **self._operators()}
            action = self._add("optimize", f":{name}", inputs, ("graph.json",), {"pass": name}, code=code)
            last = Product(action, "graph.json")
        return last

    def lower(self, backend: str, choice: Selection) -> Action:
        params = {"backend": backend, "encoding": choice.encoding, "keep_layers": choice.layers}
        inputs = {"graph.json": self.optimize(), **self._operators()}
        return self._add("lower", f":{backend}{choice.suffix}", inputs, ("program.json",), params, code=self.recipe.operators)

    def generate(self, backend: str, choice: Selection) -> Action:
        inputs = {"program.json": Product(self.lower(backend, choice), "program.json")}
        detail, params = f":{backend}{choice.suffix}", {"backend": backend}
        return self._add("generate", detail, inputs, ("code/",), params)

    def compile(self, variant: str, choice: Selection) -> Action:
        """One object per C file, each cached on its own and shared between models."""
        inputs = {"sources/": Product(self.generate("wasm", choice), "code/", "*.c")}
        detail, each = f":wasm:{variant}{choice.suffix}", Each("sources/", "objects/", ".o")
        return self._add("compile", detail, inputs, ("objects/",), {"variant": variant}, tools=COMPILERS, each=each)

    def link(self, variant: str, choice: Selection) -> Action:
        inputs = {
            "objects/": Product(self.compile(variant, choice), "objects/"),
            "program.json": Product(self.lower("wasm", choice), "program.json"),
        }
        return self._add("link", f":wasm:{variant}{choice.suffix}", inputs, ("model.wasm",), {"variant": variant}, tools=LINKERS)

    def pack(self, choice: Selection) -> Action:
        inputs = {"graph.json": self.optimize(), **self._operators(), **self.weights()}
        outputs, params = ("shards.json", "shards/"), {"encoding": choice.encoding}
        return self._add("pack", f":{choice.encoding}", inputs, outputs, params, code=self.recipe.operators)

    def bundle(self, choice: Selection) -> Action:
        pack = self.pack(choice)
        inputs: dict[str, Input] = {"shards.json": Product(pack, "shards.json"), "shards/": Product(pack, "shards/")}
        variants = VARIANTS if "wasm" in choice.backends else ()
        for backend in choice.backends:
            inputs[f"program.{backend}.json"] = Product(self.lower(backend, choice), "program.json")
            inputs[f"code.{backend}/"] = Product(self.generate(backend, choice), "code/", f"{backend}.js")
        for variant in variants:
            inputs[f"wasm.{variant}"] = Product(self.link(variant, choice), "model.wasm")
        inputs |= {**self.labels(), **self.texts()}
        params = {
            "name": self.recipe.name,
            "backends": list(choice.backends),
            "variants": list(variants),
            "encoding": choice.encoding,
            "labels": _labels(self.recipe.labels),
            "images": {name: asdict(image) for name, image in self.recipe.images.items()},
            "keep_layers": choice.layers,
            "form": asdict(self.recipe.form),
            "single": single_file(self.recipe.name),
        }
        return self._add("bundle", choice.suffix, inputs, ("bundle/",), params)

    def reference(self) -> Action:
        outputs = ("reference.npz", "layers.npz")
        if self.recipe.is_onnx:
            sizes = {**self._sizes(), **self._samples(), **self._cut()}
            inputs = {**self._model(), "sizes.json": Product(self.convert(), "sizes.json")}
            return self._add("reference", "", inputs, outputs, sizes, program="reference_onnx", timeout=1800, source=self._source_name())
        inputs = {**self._model(), **self._plugins(), **self._modules()}
        if any(isinstance(size, str) for shape in self.recipe.input_shapes.values() for size in shape):
            inputs["sizes.json"] = Product(self.convert(), "sizes.json")
        params = {
            **self._shapes(),
            **self._samples(),
            "plugins": self._plugin_names(),
            "trust_source": self.recipe.trust_source,
            **self._function(),
            **self._weights_name(),
            **self._cut(),
        }
        return self._add("reference", "", inputs, outputs, params, code=self.recipe.plugins, timeout=1800, source=self._source_name())

    def verify(self, choice: Selection, browser: str, backends: Sequence[str] = ()) -> Sequence[Action]:
        """One action per backend and variant, of `backends` where they are given, else of all that the bundle has."""
        reference, bundle = self.reference(), self.bundle(choice)
        inputs = {
            "bundle/": Product(bundle, "bundle/"),
            "reference.npz": Product(reference, "reference.npz"),
            "layers.npz": Product(reference, "layers.npz"),
        }
        tolerance = self.recipe.tolerances[choice.encoding]
        found = []
        for backend in backends or choice.backends:
            for variant in VARIANTS if backend == "wasm" else ("",):
                params = {"backend": backend, "variant": variant, "browser": browser, "tolerance": tolerance, "layers": choice.layers}
                detail = f":{backend}:{browser}{':' + variant if variant else ''}{choice.suffix}"
                found.append(self._add("verify", detail, inputs, ("result.json",), params, tools=(tool_of(browser),), timeout=1800))
        return found

    def report(self, choice: Selection, browsers: Sequence[str], backends: Sequence[str] = ()) -> Action:
        results = [action for browser in browsers for action in self.verify(choice, browser, backends)]
        inputs: dict[str, Input] = {f"result.{n}.json": Product(action, "result.json") for n, action in enumerate(results)}
        inputs["bundle/"] = Product(self.bundle(choice), "bundle/")
        outputs = ("report.html", "verification.json")
        return self._add("report", choice.suffix, inputs, outputs, {"name": self.recipe.name})

    def _add(
        self, stage: str, detail: str, inputs: Mapping[str, Input], outputs: tuple[str, ...], params: Mapping[str, Any], *,
        program: str = "", **more: Any,
    ) -> Action:  # fmt: skip
        """The action of a stage, whose program has a name of its own where frontends differ."""
        task = f"{stage}:{self.recipe.name}{detail}"
        if stage in self._user_stages():
            more.setdefault("roots", self.recipe.roots)
        if task not in self._actions:
            self._actions[task] = Action(task, program or stage, outputs, inputs, params, **more)
        return self._actions[task]

    def _user_stages(self) -> set[str]:
        """The stages that run code of the user's."""
        recipe = self.recipe
        module = isinstance(recipe.source, ModuleSource)
        found = {"fetch"} if module or isinstance(recipe.source, ExportSource) else set()
        if module or recipe.plugins or recipe.trust_source:
            found |= {"load", "convert", "reference"}
        return found | ({"convert", "optimize", "lower", "pack"} if recipe.operators else set())

    def _model(self) -> dict[str, Input]:
        """The model file, and what lies beside it: external data of ONNX, shards of TensorFlow.js, the weights of an architecture."""
        external = {"external/": Product(self.fetch(), "external/")} if self.recipe.is_onnx or self._beside else {}
        return {"source": Product(self.fetch(), "source"), **external}

    @cached_property
    def _beside(self) -> list[tuple[str, Path]]:
        """The files that the source names, by their names in it: finding them reads the model through."""
        match self.recipe.source:
            case PathSource(path, weights) if weights is not None:
                return [(WEIGHTS, weights)]
            case PathSource(path) if self.recipe.is_onnx:
                return external_files(path)
            case PathSource(path) if path.suffix == ".json":
                return shard_files(path)
        return []

    def _weights_name(self) -> dict[str, Any]:
        source = self.recipe.source
        return {"weights": WEIGHTS} if isinstance(source, PathSource) and source.weights is not None else {}

    def _sizes(self) -> dict[str, Any]:
        shapes = {name: list(shape) for name, shape in self.recipe.input_shapes.items()}
        values = {"values": dict(self.recipe.values)} if self.recipe.values else {}
        return {"dims": dict(self.recipe.dims), "input_shapes": shapes, **values}

    def _source_name(self) -> str:
        match self.recipe.source:
            case PathSource(path, weights):
                return path.name if weights is None else f"{path.name} with {weights.name}"
            case UrlSource(url):
                return url
            case ExportSource(script, function):
                return f"what {function} of {script.name} wrote"
            case ModuleSource(_, module, function):
                return f"the weights of {module}:{function}"

    def _modules(self) -> dict[str, Input]:
        source = self.recipe.source
        return {"modules/": Modules(source.root, source.module)} if isinstance(source, ModuleSource) else {}

    def _function(self) -> dict[str, Any]:
        source = self.recipe.source
        if not isinstance(source, ModuleSource):
            return {}
        return {"module": source.module, "function": source.function, "parameters": dict(source.parameters)}

    def _plugins(self) -> dict[str, Input]:
        plugins = self.recipe.plugins
        return {"plugins/": Folder(_distinct(plugins))} if plugins else {}

    def _operators(self) -> dict[str, Input]:
        operators = self.recipe.operators
        return {"operators/": Folder(_distinct(operators))} if operators else {}

    def _plugin_names(self) -> list[str]:
        return [name for name, _ in _distinct(self.recipe.plugins)]

    def _shapes(self) -> dict[str, Any]:
        shapes = {name: list(shape) for name, shape in self.recipe.input_shapes.items()}
        return {"batch_size": self.recipe.batch_size, "input_shapes": shapes}

    def _cut(self) -> dict[str, Any]:
        cut = {"from_layers": self.recipe.from_layers, "to_layers": self.recipe.to_layers}
        return {key: list(names) for key, names in cut.items() if names}

    def _samples(self) -> dict[str, Any]:
        return {"sample_sizes": dict(self.recipe.sample_sizes)} if self.recipe.sample_sizes else {}


def _distinct(paths: Sequence[Path]) -> tuple[tuple[str, Path], ...]:
    """Files by their names; of files of one name in several folders, those after the first are numbered."""
    found: dict[str, Path] = {}
    for path in paths:
        name, number = path.name, 1
        while name in found:
            number += 1
            name = f"{path.stem}.{number}{path.suffix}"
        found[name] = path
    return tuple(found.items())


def _labels(table: Any) -> Any:
    """Labels that the recipe has, as JSON."""
    match table:
        case Mapping():
            return {name: list(names) for name, names in table.items()}
        case LabelsFile():
            return []
    return list(table)
