"""The actions of a model, in the order of its data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from webkiln.backends import browsers
from webkiln.backends.table import REGISTRY
from webkiln.build.action import Action, Input, Local, PerFile, Product
from webkiln.build.names import single_file
from webkiln.build.quantized_graph import CHOSEN, QuantizedGraph
from webkiln.build.source_graph import once
from webkiln.build.tools import tool_of
from webkiln.plan.tuning import Trial, trials
from webkiln.recipe.form import Form
from webkiln.recipe.recipe import LabelsFile
from webkiln.recipe.values import STATIC, VARIANTS

BROWSERS = (*browsers.BROWSERS, "node")
COMPILERS = ("emcc", "clang")
LINKERS = ("emcc", "wasm-ld")


@dataclass(frozen=True)
class Selection:
    """An encoding of a model for some backends. With `layers`, the bundle also returns the output
    of every layer. A `trial` overrides the choice among candidate schedules, to measure them.
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


class ModelGraph(QuantizedGraph):
    """The actions of one recipe, created on request."""

    def empty_copy(self) -> "ModelGraph":
        """A graph of the same recipe without actions."""
        return ModelGraph(self.recipe, self._share, self._passes)

    def bundle_for_measurement(self, encoding: str, *, layers: bool) -> Action:
        return self.bundle(Selection((self.measuring_backend,), encoding, layers))

    @once
    def lower(self, backend: str, choice: Selection) -> Action:
        computation = self.computation(choice.encoding)
        products = computation.products_of(backend)
        params: dict[str, Any] = {
            "backend": backend,
            "encoding": self.plain_encoding(choice.encoding),
            "keep_layers": choice.layers,
            "winograd": computation.winograd,
            **(
                {"precision": computation.precision_of(backend)}
                if computation.stores_float16(backend)
                else {}
            ),
            **({"float16": "rounded"} if computation.rounds_float16(backend) else {}),
            **({"products": products} if products != "exact" else {}),
            **({"caches": computation.caches} if computation.rounds_caches else {}),
            **({"matrices": True} if computation.matrices_of(backend) else {}),
        }
        inputs: dict[str, Input] = {
            "graph.json": self.graph(choice.encoding),
            **self._operators.inputs,
        }
        if choice.trial is not None:
            params["trial"] = list(choice.trial)
        elif computation.tuned is not None:
            inputs["tuned.json"] = Local(computation.tuned)
        code = (
            self._share.package / "backends" / backend / "backend.py",
            *self.recipe.user_code.operators,
        )
        return self._add(
            "lower", f":{backend}{choice.suffix}", inputs, ("program.json",), params, code=code
        )

    @once
    def generate(self, backend: str, choice: Selection) -> Action:
        inputs = {"program.json": Product(self.lower(backend, choice), "program.json")}
        code = (self._share.package / "backends" / backend / "printer.py",)
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
        """One object file per C file. Each is cached separately and shared between models."""
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
        inputs = {
            "graph.json": self.graph(choice.encoding),
            **self._operators.inputs,
            **self.graph_weights(choice.encoding),
        }
        outputs = ("shards.json", "shards/")
        params = {"encoding": self.plain_encoding(choice.encoding)}
        return self._add(
            "pack",
            f":{choice.encoding}",
            inputs,
            outputs,
            params,
            code=self.recipe.user_code.operators,
        )

    @once
    def bundle(self, choice: Selection) -> Action:
        pack = self.pack(choice)
        inputs: dict[str, Input] = {
            "shards.json": Product(pack, "shards.json"),
            "shards/": Product(pack, "shards/"),
        }
        variants = {name: list(VARIANTS[name]) for name in choice.backends if VARIANTS[name]}
        for backend in choice.backends:
            inputs[f"program.{backend}.json"] = Product(self.lower(backend, choice), "program.json")
            inputs[f"code.{backend}/"] = Product(
                self.generate(backend, choice), "code/", f"{backend}*.js"
            )
        for variant in (name for names in variants.values() for name in names):
            inputs[f"wasm.{variant}"] = Product(self.link(variant, choice), "model.wasm")
        trial = choice.trial is not None
        inputs |= (
            self.text_encodings()
            if trial
            else {**self.labels(), **self.source_labels(), **self.text_encodings()}
        )
        params = {
            "name": self.recipe.name,
            "backends": list(choice.backends),
            "variants": variants,
            "encoding": choice.encoding,
            "labels": [] if trial else _labels(self.recipe.bundle.labels),
            "images": {name: asdict(image) for name, image in self.recipe.bundle.images.items()},
            "keep_layers": choice.layers,
            "form": asdict(Form() if trial else self.recipe.bundle.form),
            "single": single_file(self.recipe.name),
        }
        return self._add("bundle", choice.suffix, inputs, ("bundle/",), params)

    def verify(
        self, choice: Selection, browser: str, backends: Sequence[str] = ()
    ) -> Sequence[Action]:
        """One action per backend and variant. Empty `backends`: all backends of the bundle."""
        inputs, recorded = self._expected(choice.encoding)
        inputs["bundle/"] = Product(self.bundle(choice), "bundle/")
        actions = []
        for backend in backends or choice.backends:
            tolerance = self.recipe.tolerance(backend, choice.encoding)
            for variant in VARIANTS[backend] or ("",):
                params: dict[str, Any] = {
                    "backend": backend,
                    "variant": variant,
                    "browser": browser,
                    "tolerance": tolerance,
                    "layers": choice.layers,
                }
                params |= recorded
                if self.computation(choice.encoding).products_of(backend) != "exact":
                    params["dot_tolerance"] = self.recipe.verification.tolerances["dot"]
                if self.recipe.computation.rounds_caches:
                    params["cache_tolerance"] = self.recipe.verification.tolerances["caches"]
                detail = f":{backend}:{browser}{':' + variant if variant else ''}{choice.suffix}"
                actions.append(
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
        return actions

    def _expected(self, encoding: str) -> tuple[dict[str, Input], dict[str, str]]:
        """What a bundle is verified against, and the parameter that names it: what the framework
        computes, or recorded outputs. Where activations are rounded within measured ranges: what
        the samples give in float32.
        """
        if encoding == STATIC:
            found = Product(self.choose(encoding), "expected.npz")
            return {"reference.npz": found}, {"recorded": "the samples, computed in float32"}
        reference, file = self.reference(), self.recipe.verification.reference
        inputs: dict[str, Input] = {
            "reference.npz": Product(reference, "reference.npz"),
            "layers.npz": Product(reference, "layers.npz"),
        }
        return inputs, {"recorded": file.name} if file is not None else {}

    def tune(self, backend: str, browser: str) -> Action:
        """The times of all candidate schedules of a backend."""
        inputs: dict[str, Input] = {}
        for number, trial in enumerate(trials(REGISTRY[backend].target)):
            choice = Selection((backend,), self.recipe.bundle.encodings[0], trial=trial)
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
        self,
        choice: Selection,
        browsers: Sequence[str],
        backends: Sequence[str] = (),
        compared: Sequence[str] = (),
    ) -> Action:
        """The report of a bundle, which compares it with other encodings."""

        def results(encoding: str, prefix: str) -> dict[str, Input]:
            selection = replace(choice, encoding=encoding)
            verified = [
                action
                for browser in browsers
                for action in self.verify(selection, browser, backends)
            ]
            return {
                f"{prefix}.{number}.json": Product(action, "result.json")
                for number, action in enumerate(verified)
            }

        inputs = results(choice.encoding, "result")
        inputs["bundle/"] = Product(self.bundle(choice), "bundle/")
        others = [name for name in compared if name != choice.encoding]
        for place, name in enumerate(others):
            inputs |= results(name, f"result.{place}")
            pack = self.pack(replace(choice, encoding=name))
            inputs[f"shards.{place}.json"] = Product(pack, "shards.json")
        if choice.encoding in CHOSEN:
            inputs["errors.json"] = Product(self.choose(choice.encoding), "errors.json")
        outputs = ("report.html", "verification.json")
        params = {"name": self.recipe.name, "compared": others}
        return self._add("report", choice.suffix, inputs, outputs, params)


def _labels(table: Any) -> Any:
    """The labels in the recipe, as JSON."""
    match table:
        case Mapping():
            return {name: list(names) for name, names in table.items()}
        case LabelsFile():
            return []
    return list(table)
