"""The actions of a model up to its graph, weights and reference outputs."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from webkiln.build.action import Action, Folder, Input, Local, Product, Requirements, UserReads
from webkiln.build.format_parameters import StageArguments, companion, operators, stage_arguments
from webkiln.build.share import Share
from webkiln.build.source_format import format_of
from webkiln.frontends.core.format_stages import SCRIPTS
from webkiln.frontends.core.model_format import ModelFormat
from webkiln.passes.pipeline import PASSES
from webkiln.recipe.quantization import UserFunction
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import ExportSource, ModuleSource, PathSource, UrlSource

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
Graph = TypeVar("Graph", bound="SourceGraph")


def once(
    method: Callable[Concatenate[Graph, Arguments], Result],
) -> Callable[Concatenate[Graph, Arguments], Result]:
    """Cache the results of a method by its arguments."""

    @wraps(method)
    def cached(graph: Graph, /, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        key = (method.__name__, args, tuple(named.items()))
        if key not in graph.results:
            graph.results[key] = method(graph, *args, **named)
        return cast("Result", graph.results[key])

    return cached


class SourceGraph:
    """The actions of one recipe, created on request. There is one object per task, so that
    encodings and browsers share actions.
    """

    def __init__(self, recipe: Recipe, share: Share, passes: tuple[str, ...] = PASSES) -> None:
        self.recipe = recipe
        self._operators = operators(recipe)
        self._passes = passes
        self._share = share
        self._actions: dict[str, Action] = {}
        self.results: dict[Any, Any] = {}

    def actions(self) -> Iterator[Action]:
        """All actions requested so far, producers before consumers."""
        yield from self._actions.values()

    @cached_property
    def format(self) -> ModelFormat:
        return format_of(self.recipe)

    @once
    def fetch(self) -> Action:
        source = self.recipe.source
        arguments = StageArguments()
        companions = self._companions
        match source:
            case PathSource(path):
                arguments = StageArguments(
                    {
                        "source": Local(self.format.main(path)),
                        **({"external/": Folder(tuple(companions))} if companions else {}),
                    },
                    {"kind": "path"},
                )
            case UrlSource(url, sha256):
                arguments = StageArguments(params={"kind": "url", "url": url, "sha256": sha256})
            case ExportSource(script, function, parameters):
                params = {
                    "kind": "export",
                    "function": function,
                    "parameters": dict(parameters),
                    "suffix": self.format.suffixes[0],
                }
                arguments = StageArguments(
                    {"script.py": Local(script)}, params, (script,)
                ) | self._program("fetch")
            case ModuleSource():
                arguments = StageArguments(params={"kind": "module"}) | self._program("fetch")
        outputs: tuple[str, ...] = ("source", "external/") if companions else ("source",)
        return self._add_format_stage(
            "fetch",
            arguments,
            outputs,
            timeout=1800,
        )

    def labels(self) -> dict[str, Input]:
        """The file of labels, if the recipe names one."""
        if (file := self.recipe.labels_file) is None:
            return {}
        params = {"kind": "labels", "url": file.url, "sha256": file.sha256}
        return {
            "labels": Product(
                self._add(
                    "fetch",
                    ":labels",
                    {},
                    ("source",),
                    params,
                    timeout=1800,
                    user_reads=UserReads(),
                ),
                "source",
            )
        }

    @once
    def load(self) -> Action:
        arguments = self._program("load") | StageArguments(self._model())
        return self._add_format_stage(
            "load",
            arguments,
            ("spec.json", "weights/"),
            source=self._source_name(),
        )

    @once
    def convert(self) -> Action:
        arguments = (
            StageArguments({"spec.json": Product(self.load(), "spec.json")})
            | self._program("convert")
            | self._operators
        )
        if self.recipe.user_code.operators:
            arguments |= StageArguments(params={"backends": list(self.recipe.backends)})
        outputs = ("graph.json", "weights.json", "sizes.json", *self.format.extra_files)
        return self._add_format_stage(
            "convert",
            arguments,
            outputs,
            source=self._source_name(),
        )

    def structure(self) -> Input:
        """The converted graph, before any pass."""
        return Product(self.convert(), "graph.json")

    def weights(self) -> Mapping[str, Input]:
        return {
            "weights.json": Product(self.convert(), "weights.json"),
            "weights/": Product(self.load(), "weights/"),
        }

    def source_labels(self) -> Mapping[str, Input]:
        """The labels of the source, unless the recipe has some."""
        name = "labels.json"
        return (
            {name: Product(self.convert(), name)}
            if name in self.format.extra_files and not self.recipe.bundle.labels
            else {}
        )

    def text_encodings(self) -> Mapping[str, Input]:
        """How strings map to input indices, for formats that store it."""
        name = "texts.json"
        return {name: Product(self.convert(), name)} if name in self.format.extra_files else {}

    @once
    def reference(self) -> Action:
        """The framework's outputs. If the recipe names recorded outputs, neither the framework nor
        user code runs.
        """
        outputs = ("reference.npz", "layers.npz")
        if (file := self.recipe.verification.reference) is not None:
            inputs = {
                "expected.npz": Local(file),
                "graph.json": self.structure(),
                **self.text_encodings(),
            }
            return self._add(
                "reference",
                "",
                inputs,
                outputs,
                {"recorded": file.name},
                timeout=1800,
                user_reads=UserReads(),
            )
        arguments = self._program("reference") | StageArguments(self._model())
        if self.format.may_have_open_sizes or any(
            isinstance(size, str) for shape in self.recipe.inputs.shapes.values() for size in shape
        ):
            arguments |= StageArguments({"sizes.json": Product(self.convert(), "sizes.json")})
        return self._add_format_stage(
            "reference",
            arguments,
            outputs,
            timeout=1800,
            source=self._source_name(),
        )

    def _program(self, stage: str) -> StageArguments:
        """The format's code for a stage, with the parameters of the recipe that it reads. Formats
        without such code use the shared code for scripts.
        """
        names = self.format.parameters.get(stage)
        name = SCRIPTS if names is None else self.format.name
        module = self._share.package / "frontends" / name / f"stage_{stage}.py"
        return StageArguments(params={"format": name}, code=(module,)) | stage_arguments(
            self.recipe, names or ()
        )

    def _add_format_stage(
        self, stage: str, arguments: StageArguments, outputs: tuple[str, ...], **more: Any
    ) -> Action:
        """The action of a stage whose code depends on the format."""
        inputs, params, code = arguments.inputs, arguments.params, arguments.code
        return self._add(stage, "", inputs, outputs, params, code=code, **more)

    def _add(
        self,
        stage: str,
        detail: str,
        inputs: Mapping[str, Input],
        outputs: tuple[str, ...],
        params: Mapping[str, Any],
        code: tuple[Path, ...] = (),
        tools: tuple[str, ...] = (),
        **more: Any,
    ) -> Action:
        task = f"{stage}:{self.recipe.name}{detail}"
        if stage in self._user_stages():
            more.setdefault("user_reads", UserReads(self.recipe.roots, self.recipe.user_code.reads))
        if task not in self._actions:
            self._actions[task] = Action(
                task, stage, outputs, inputs, params, Requirements(code, tools), **more
            )
        return self._actions[task]

    def _user_stages(self) -> set[str]:
        """The stages that run user code."""
        source, code = self.recipe.source, self.recipe.user_code
        module = isinstance(source, ModuleSource)
        stages = {"fetch"} if module or isinstance(source, ExportSource) else set()
        if module or code.plugins or code.trust_source:
            stages |= {"load", "convert", "reference"}
        quantization = self.recipe.bundle.quantization
        stages |= {"samples"} if isinstance(quantization.calibration, UserFunction) else set()
        stages |= {"choose"} if quantization.metric is not None else set()
        return stages | (
            {"convert", "optimize", "quantize", "encode", "choose", "lower", "pack"}
            if code.operators
            else set()
        )

    def _model(self) -> dict[str, Input]:
        """The model file and its companion files: external data of ONNX, shards of TensorFlow.js,
        the weights of a Keras architecture or of a Caffe net.
        """
        external = {"external/": Product(self.fetch(), "external/")} if self._companions else {}
        return {"source": Product(self.fetch(), "source"), **external}

    @cached_property
    def _companions(self) -> list[tuple[str, Path]]:
        """The companion files, by their names in the source. For some formats, finding them reads
        the model file to its end.
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
