"""The DAG of one model, in the order its data flows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from webkiln.backends import browsers
from webkiln.backends.table import TARGETS
from webkiln.build.action import Action, Folder, Input, Local, PerFile, Product
from webkiln.build.format_parameters import Taken, companion, operators, take
from webkiln.build.names import VARIANTS, single_file
from webkiln.build.share import Share
from webkiln.build.source_format import format_of
from webkiln.build.tools import tool_of
from webkiln.frontends.core.format_stages import SCRIPTS
from webkiln.frontends.core.model_format import ModelFormat
from webkiln.passes.pipeline import PASSES
from webkiln.plan.tuning import Trial, trials
from webkiln.recipe.form import Form
from webkiln.recipe.recipe import LabelsFile, Recipe
from webkiln.recipe.sources import ExportSource, ModuleSource, PathSource, UrlSource

BROWSERS = (*browsers.BROWSERS, "node")
COMPILERS = ("emcc", "clang")
LINKERS = ("emcc", "wasm-ld")

Reply = TypeVar("Reply")
Asked = ParamSpec("Asked")

FINAL = {"bundle", "reference", "verify", "report"}
"""The stages whose results users want."""


@dataclass(frozen=True)
class Selection:
    """One encoding of a model for some backends; with `layers` every layer's output is kept for
    inspection. A `trial` takes other candidates than the rules and the measurements do, to be
    measured.
    """

    backends: tuple[str, ...]
    encoding: str = "float32"
    layers: bool = False
    trial: Trial | None = None

    @property
    def suffix(self) -> str:
        parts = [self.encoding] if self.encoding != "float32" else []
        trial = [f"trial{'.'.join(map(str, self.trial))}"] if self.trial is not None else []
        return "".join(
            f":{part}" for part in (*parts, *(["layers"] if self.layers else []), *trial)
        )


def once(
    method: Callable[Concatenate["ModelGraph", Asked], Reply],
) -> Callable[Concatenate["ModelGraph", Asked], Reply]:
    """A method that makes for each of its arguments one thing only, which it then has."""

    @wraps(method)
    def found(graph: "ModelGraph", /, *asked: Asked.args, **named: Asked.kwargs) -> Reply:
        key = (method.__name__, asked, tuple(named.items()))
        if key not in graph.made:
            graph.made[key] = method(graph, *asked, **named)
        return cast("Reply", graph.made[key])

    return found


class ModelGraph:
    """The actions of one recipe. Equal tasks are one object, so encodings and browsers share what
    they share.
    """

    def __init__(self, recipe: Recipe, share: Share, passes: tuple[str, ...] = PASSES) -> None:
        self.recipe = recipe
        self._operators = operators(recipe)
        self._passes = passes
        self._share = share
        self._actions: dict[str, Action] = {}
        self.made: dict[Any, Any] = {}

    def anew(self) -> "ModelGraph":
        """The same model, of which nothing was asked for."""
        return ModelGraph(self.recipe, self._share, self._passes)

    def actions(self) -> Iterator[Action]:
        """Everything asked for so far, producers before consumers."""
        yield from self._actions.values()

    @cached_property
    def format(self) -> ModelFormat:
        return format_of(self.recipe)

    @once
    def fetch(self) -> Action:
        source = self.recipe.source
        taken = Taken()
        beside = self._beside
        match source:
            case PathSource(path):
                taken = Taken(
                    {
                        "source": Local(self.format.main(path)),
                        **({"external/": Folder(tuple(beside))} if beside else {}),
                    },
                    {"kind": "path"},
                )
            case UrlSource(url, sha256):
                taken = Taken(params={"kind": "url", "url": url, "sha256": sha256})
            case ExportSource(script, function, parameters):
                params = {
                    "kind": "export",
                    "function": function,
                    "parameters": dict(parameters),
                    "suffix": self.format.suffixes[0],
                }
                taken = Taken({"script.py": Local(script)}, params, (script,)) | self._program(
                    "fetch"
                )
            case ModuleSource():
                taken = Taken(params={"kind": "module"}) | self._program("fetch")
        outputs: tuple[str, ...] = ("source", "external/") if beside else ("source",)
        return self._add(
            "fetch", "", taken.inputs, outputs, taken.params, code=taken.code, timeout=1800
        )

    def labels(self) -> dict[str, Input]:
        """The file of labels, where there is one."""
        if (file := self.recipe.labels_file) is None:
            return {}
        params = {"kind": "labels", "url": file.url, "sha256": file.sha256}
        return {
            "labels": Product(
                self._add("fetch", ":labels", {}, ("source",), params, timeout=1800, roots=()),
                "source",
            )
        }

    @once
    def load(self) -> Action:
        taken = self._program("load") | Taken(self._model())
        return self._add(
            "load",
            "",
            taken.inputs,
            ("spec.json", "weights/"),
            taken.params,
            code=taken.code,
            source=self._source_name(),
        )

    @once
    def convert(self) -> Action:
        taken = (
            Taken({"spec.json": Product(self.load(), "spec.json")})
            | self._program("convert")
            | self._operators
        )
        if self.recipe.operators:
            taken |= Taken(params={"backends": list(self.recipe.backends)})
        outputs = ("graph.json", "weights.json", "sizes.json", *self.format.extra_files)
        return self._add(
            "convert",
            "",
            taken.inputs,
            outputs,
            taken.params,
            code=taken.code,
            source=self._source_name(),
        )

    def structure(self) -> Input:
        """The graph as the source has it."""
        return Product(self.convert(), "graph.json")

    def weights(self) -> Mapping[str, Input]:
        return {
            "weights.json": Product(self.convert(), "weights.json"),
            "weights/": Product(self.load(), "weights/"),
        }

    def own_labels(self) -> Mapping[str, Input]:
        """The labels that the source itself has, where the recipe has none."""
        name = "labels.json"
        return (
            {name: Product(self.convert(), name)}
            if name in self.format.extra_files and not self.recipe.labels
            else {}
        )

    def texts(self) -> Mapping[str, Input]:
        """How texts become the indices that the model takes, of sources that may say so."""
        name = "texts.json"
        return {name: Product(self.convert(), name)} if name in self.format.extra_files else {}

    @once
    def optimize(self) -> Input:
        """The graph after the last pass; each pass is an action of its own, keyed by that pass's
        code.
        """
        last = self.structure()
        for name in self._passes:
            code = (self._share.package / "passes" / f"{name}.py", *self.recipe.operators)
            inputs = {"graph.json": last, **self._operators.inputs}
            action = self._add(
                "optimize", f":{name}", inputs, ("graph.json",), {"pass": name}, code=code
            )
            last = Product(action, "graph.json")
        return last

    @once
    def lower(self, backend: str, choice: Selection) -> Action:
        params: dict[str, Any] = {
            "backend": backend,
            "encoding": choice.encoding,
            "keep_layers": choice.layers,
            "winograd": self.recipe.winograd,
            **(
                {"precision": self.recipe.precision_of(backend)}
                if self.recipe.stores_float16(backend)
                else {}
            ),
        }
        inputs: dict[str, Input] = {"graph.json": self.optimize(), **self._operators.inputs}
        if choice.trial is not None:
            params["trial"] = list(choice.trial)
        elif self.recipe.tuned is not None:
            inputs["tuned.json"] = Local(self.recipe.tuned)
        code = (self._share.package / "backends" / f"{backend}.py", *self.recipe.operators)
        return self._add(
            "lower", f":{backend}{choice.suffix}", inputs, ("program.json",), params, code=code
        )

    @once
    def generate(self, backend: str, choice: Selection) -> Action:
        inputs = {"program.json": Product(self.lower(backend, choice), "program.json")}
        code = (self._share.package / "codegen" / f"write_{backend}.py",)
        return self._add(
            "generate",
            f":{backend}{choice.suffix}",
            inputs,
            ("code/",),
            {"backend": backend},
            code=code,
        )

    @once
    def compile(self, variant: str, choice: Selection) -> Action:
        """One object per C file, each cached on its own and shared between models."""
        inputs = {"sources/": Product(self.generate("wasm", choice), "code/", "*.c")}
        detail, per_file = f":wasm:{variant}{choice.suffix}", PerFile("sources/", "objects/", ".o")
        return self._add(
            "compile",
            detail,
            inputs,
            ("objects/",),
            {"variant": variant},
            tools=COMPILERS,
            per_file=per_file,
        )

    @once
    def link(self, variant: str, choice: Selection) -> Action:
        inputs = {"objects/": Product(self.compile(variant, choice), "objects/")}
        return self._add(
            "link",
            f":wasm:{variant}{choice.suffix}",
            inputs,
            ("model.wasm",),
            {"variant": variant},
            tools=LINKERS,
        )

    @once
    def pack(self, choice: Selection) -> Action:
        inputs = {"graph.json": self.optimize(), **self._operators.inputs, **self.weights()}
        outputs, params = ("shards.json", "shards/"), {"encoding": choice.encoding}
        return self._add(
            "pack", f":{choice.encoding}", inputs, outputs, params, code=self.recipe.operators
        )

    @once
    def bundle(self, choice: Selection) -> Action:
        pack = self.pack(choice)
        inputs: dict[str, Input] = {
            "shards.json": Product(pack, "shards.json"),
            "shards/": Product(pack, "shards/"),
        }
        variants = VARIANTS if "wasm" in choice.backends else ()
        for backend in choice.backends:
            inputs[f"program.{backend}.json"] = Product(self.lower(backend, choice), "program.json")
            inputs[f"code.{backend}/"] = Product(
                self.generate(backend, choice), "code/", f"{backend}.js"
            )
        for variant in variants:
            inputs[f"wasm.{variant}"] = Product(self.link(variant, choice), "model.wasm")
        trial = choice.trial is not None
        inputs |= self.texts() if trial else {**self.labels(), **self.own_labels(), **self.texts()}
        params = {
            "name": self.recipe.name,
            "backends": list(choice.backends),
            "variants": list(variants),
            "encoding": choice.encoding,
            "labels": [] if trial else _labels(self.recipe.labels),
            "images": {name: asdict(image) for name, image in self.recipe.images.items()},
            "keep_layers": choice.layers,
            "form": asdict(Form() if trial else self.recipe.form),
            "single": single_file(self.recipe.name),
        }
        return self._add("bundle", choice.suffix, inputs, ("bundle/",), params)

    @once
    def reference(self) -> Action:
        """What the framework computes; or what was recorded of it, for which no framework and no
        code of the user's runs.
        """
        outputs = ("reference.npz", "layers.npz")
        if (file := self.recipe.reference) is not None:
            inputs = {"expected.npz": Local(file), "graph.json": self.structure(), **self.texts()}
            return self._add(
                "reference", "", inputs, outputs, {"recorded": file.name}, timeout=1800, roots=()
            )
        taken = self._program("reference") | Taken(self._model())
        if self.format.may_have_open_sizes or any(
            isinstance(size, str) for shape in self.recipe.input_shapes.values() for size in shape
        ):
            taken |= Taken({"sizes.json": Product(self.convert(), "sizes.json")})
        return self._add(
            "reference",
            "",
            taken.inputs,
            outputs,
            taken.params,
            code=taken.code,
            timeout=1800,
            source=self._source_name(),
        )

    def verify(
        self, choice: Selection, browser: str, backends: Sequence[str] = ()
    ) -> Sequence[Action]:
        """One action per backend and variant, of `backends` where they are given, else of all that
        the bundle has.
        """
        reference, bundle = self.reference(), self.bundle(choice)
        inputs = {
            "bundle/": Product(bundle, "bundle/"),
            "reference.npz": Product(reference, "reference.npz"),
            "layers.npz": Product(reference, "layers.npz"),
        }
        recorded = (
            {"recorded": self.recipe.reference.name} if self.recipe.reference is not None else {}
        )
        found = []
        for backend in backends or choice.backends:
            tolerance = self.recipe.tolerance(backend, choice.encoding)
            for variant in VARIANTS if backend == "wasm" else ("",):
                params = {
                    "backend": backend,
                    "variant": variant,
                    "browser": browser,
                    "tolerance": tolerance,
                    "layers": choice.layers,
                }
                params |= recorded
                detail = f":{backend}:{browser}{':' + variant if variant else ''}{choice.suffix}"
                found.append(
                    self._add(
                        "verify",
                        detail,
                        inputs,
                        ("result.json",),
                        params,
                        tools=(tool_of(browser),),
                        timeout=1800,
                    )
                )
        return found

    def tune(self, backend: str, browser: str) -> Action:
        """The times of all candidates for the launches of a backend."""
        inputs: dict[str, Input] = {}
        for number, trial in enumerate(trials(TARGETS[backend])):
            choice = Selection((backend,), self.recipe.encodings[0], trial=trial)
            inputs[f"bundle.{number}/"] = Product(self.bundle(choice), "bundle/")
            inputs[f"program.{number}.json"] = Product(self.lower(backend, choice), "program.json")
        params = {"backend": backend, "browser": browser}
        return self._add(
            "tune",
            f":{backend}:{browser}",
            inputs,
            ("measured.json",),
            params,
            tools=(tool_of(browser),),
            timeout=7200,
        )

    def report(
        self, choice: Selection, browsers: Sequence[str], backends: Sequence[str] = ()
    ) -> Action:
        results = [
            action for browser in browsers for action in self.verify(choice, browser, backends)
        ]
        inputs: dict[str, Input] = {
            f"result.{n}.json": Product(action, "result.json") for n, action in enumerate(results)
        }
        inputs["bundle/"] = Product(self.bundle(choice), "bundle/")
        outputs = ("report.html", "verification.json")
        return self._add("report", choice.suffix, inputs, outputs, {"name": self.recipe.name})

    def _program(self, stage: str) -> Taken:
        """The format's program of a stage, with what it takes of the recipe; any format's program
        for scripts where it has none of its own.
        """
        takes = self.format.parameters.get(stage)
        name = SCRIPTS if takes is None else self.format.name
        module = self._share.package / "frontends" / name / f"stage_{stage}.py"
        return Taken(params={"format": name}, code=(module,)) | take(self.recipe, takes or ())

    def _add(
        self,
        stage: str,
        detail: str,
        inputs: Mapping[str, Input],
        outputs: tuple[str, ...],
        params: Mapping[str, Any],
        **more: Any,
    ) -> Action:
        task = f"{stage}:{self.recipe.name}{detail}"
        if stage in self._user_stages():
            more.setdefault("roots", self.recipe.roots)
            more.setdefault("tracked_roots", self.recipe.reads)
        if task not in self._actions:
            self._actions[task] = Action(
                task, stage, outputs, inputs, params, final=stage in FINAL, **more
            )
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
        """The model file, and what lies beside it: external data of ONNX, shards of TensorFlow.js,
        the weights of an architecture or of a net of Caffe.
        """
        external = {"external/": Product(self.fetch(), "external/")} if self._beside else {}
        return {"source": Product(self.fetch(), "source"), **external}

    @cached_property
    def _beside(self) -> list[tuple[str, Path]]:
        """The files that the source names, by their names in it: finding them reads the model
        through.
        """
        match self.recipe.source:
            case PathSource(path, weights) if weights is not None:
                return [(companion(weights), weights)]
            case PathSource(path):
                return self.format.companion_files(path)
        return []

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


def _labels(table: Any) -> Any:
    """Labels that the recipe has, as JSON."""
    match table:
        case Mapping():
            return {name: list(names) for name, names in table.items()}
        case LabelsFile():
            return []
    return list(table)
