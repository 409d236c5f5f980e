"""The options of a build: one table for recipes, the command line, imports and doit.

A row is a key of recipe.toml, an option of `webkiln build`, an option of an import
(`./my.keras?webkiln&dim=batch=1`) and, for some, a variable of doit. `docs/options.md` and the
plugin's `options.js` are written from this table by `make docs`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from webkiln.recipe import checks, texts, updates
from webkiln.recipe.form import PACKAGE
from webkiln.recipe.values import (
    BACKENDS,
    CACHES,
    DOT_BACKENDS,
    ENCODINGS,
    FLOAT16,
    FLOAT16_ARITHMETIC_BACKENDS,
    FLOAT16_BACKENDS,
    FLOAT16_MODES,
    FORMS,
    HOLDING_BACKENDS,
    LAYER_ENCODINGS,
    MATRIX_BACKENDS,
    PRECISIONS,
    PRODUCTS,
    RANGES,
    USUAL_BACKENDS,
)


@dataclass(frozen=True)
class Flag:
    """How an option is written on the command line and in imports.

    `name` has no dashes in front; it is empty for an option that only recipes have. `read` parses
    the arguments to the value that recipe.toml would have: one, `many`, or none for a `switch`. A
    `path` is relative to the working directory, or the importing module. `in_imports` is false for
    options that change no bundle, and for those of packaging, which is the bundler's work.
    """

    name: str
    metavar: str = ""
    read: Callable[[Sequence[str], str], Any] = texts.last
    kind: Literal["one", "many", "switch"] = "one"
    path: bool = False
    in_imports: bool = True

    @property
    def attribute(self) -> str:
        """The attribute of an argparse.Namespace."""
        return self.name.replace("-", "_")


@dataclass(frozen=True)
class Option:
    """A setting of a build.

    `key` is its key in recipe.toml. `is_valid` checks its value; errors print `expected`. `update`
    adds the value to a recipe: tables and lists of files extend those of the recipe, whose paths
    are relative to its folder. `variable` is its variable of doit.
    """

    key: str
    help: str
    expected: str
    is_valid: Callable[[Any], bool]
    update: updates.Update
    flag: Flag = Flag("")
    variable: str = ""


OPTIONS: tuple[Option, ...] = (
    Option(
        "source_format",
        "the format of the source, if the file does not show it",
        "the name of a model format",
        checks.is_string,
        updates.assign("reading", "format"),
        Flag("source-format", "FORMAT"),
    ),
    Option(
        "signature",
        "the signature or graph to build, of a file that has several",
        "the name of a signature or graph",
        checks.is_string,
        updates.assign("reading", "signature"),
        Flag("signature", "NAME"),
    ),
    Option(
        "parameters",
        "an argument of the function that makes the model",
        "a table: name = string, number or truth value",
        checks.table(checks.is_plain),
        updates.parameters,
        Flag("parameter", "NAME=VALUE", texts.pairs(texts.parameter), kind="many"),
    ),
    Option(
        "backends",
        f"backends of the bundle: some of {','.join(BACKENDS)}; default:"
        f" {','.join(USUAL_BACKENDS)}",
        "a list of strings",
        checks.is_strings,
        updates.choose_from("backends", what="backend", valid=BACKENDS),
        Flag("backend", "LIST", texts.commas),
        variable="backend",
    ),
    Option(
        "encodings",
        f"how weights are stored: some of {', '.join(ENCODINGS)}; default: float32. With several,"
        " each except float32 has a folder OUTPUT-ENCODING",
        "a list of strings",
        checks.is_strings,
        updates.choose_from("bundle", "encodings", what="encoding", valid=ENCODINGS),
        Flag("encoding", "LIST", texts.commas),
        variable="encoding",
    ),
    Option(
        "quantize",
        "how weights are quantised: a table of layers, calibration, ranges, bias_correction,"
        " max_error and metric",
        "a table: layers, calibration, ranges, bias_correction, max_error, metric",
        checks.is_table,
        updates.quantization(),
    ),
    Option(
        "quantize.layers",
        f"the encoding of layers whose names match a pattern: one of {', '.join(LAYER_ENCODINGS)}",
        "",
        checks.table(checks.is_string),
        updates.quantization("layers"),
        Flag("layer-encoding", "LAYER=ENCODING", texts.pairs(texts.layer_encoding), kind="many"),
    ),
    Option(
        "quantize.calibration",
        "samples of the inputs: an .npz file, or a function that returns them, as file.py:function",
        "",
        checks.is_path,
        updates.quantization("calibration"),
        Flag("calibration", "NPZ|FILE.py:FUNCTION", path=True),
    ),
    Option(
        "quantize.ranges",
        f"how ranges of activations are found: one of {', '.join(RANGES)}; default: {RANGES[0]}",
        "",
        checks.is_string,
        updates.quantization("ranges"),
        Flag("ranges", "RANGES"),
    ),
    Option(
        "quantize.max_error",
        "choose the encoding of each layer, for the smallest bundle whose outputs differ by less,"
        " relative to their largest value",
        "a positive number",
        checks.is_positive,
        updates.chosen_by_error,
        Flag("max-error", "ERROR", texts.real),
    ),
    Option(
        "quantize.metric",
        "the function that measures the error of outputs, as file.py:function",
        "",
        checks.is_path,
        updates.quantization("metric"),
        Flag("metric", "FILE.py:FUNCTION", path=True),
    ),
    Option(
        "precision",
        f"how the memory of {' and '.join(FLOAT16_BACKENDS)} holds numbers between layers, and how"
        f" {' and '.join(FLOAT16_ARITHMETIC_BACKENDS)} computes large products: one of"
        f" {', '.join(PRECISIONS)}; default: float32",
        *checks.one_of(PRECISIONS),
        updates.assign("computation", "precision"),
        Flag("precision", "PRECISION"),
    ),
    Option(
        "float16",
        f"float16 tensors of the model on {' and '.join(HOLDING_BACKENDS)}: held as float32 between"
        " layers, or rounded to float16 by every operator, as by the framework: one of"
        f" {', '.join(FLOAT16_MODES)}; default: held",
        *checks.one_of(FLOAT16_MODES),
        updates.assign("computation", "float16"),
        Flag("float16", "held|rounded"),
    ),
    Option(
        "products",
        f"how {' and '.join(DOT_BACKENDS)} multiply weights of 4 and 8 bits: exact, by decoded"
        " codes; dot, by activations that are rounded to 8 bits; or auto, dot where weights have 4"
        f" bits in blocks and it is expected to be faster: one of {', '.join(PRODUCTS)}; default:"
        " auto",
        *checks.one_of(PRODUCTS),
        updates.assign("computation", "products"),
        Flag("products", "auto|exact|dot"),
    ),
    Option(
        "caches",
        "how caches of keys and values are held between runs: float32; float16; or int8, with a"
        f" scale for each row: one of {', '.join(CACHES)}; default: float32",
        *checks.one_of(CACHES),
        updates.assign("computation", "caches"),
        Flag("caches", "float32|float16|int8"),
    ),
    Option(
        "batch_size",
        "the size of the batch, if the model leaves it open; default: 1",
        "a positive integer",
        checks.is_size,
        updates.assign("inputs", "batch_size"),
        Flag("batch-size", "SIZE", texts.integer),
    ),
    Option(
        "input_shapes",
        "the shape of an input; a name, as in 1,T,16, stays open until the model runs",
        "a table: input name = [positive sizes, or names of sizes that are set at run time]",
        checks.table(checks.is_shape),
        updates.shapes("inputs", "shapes"),
        Flag("input-shape", "[INPUT=]1,28,28,1", texts.pairs(texts.input_shape), kind="many"),
    ),
    Option(
        "dims",
        "a size that the model file names: a number, or another name",
        "a table: name of a size in the model file = a positive size, or another name",
        checks.table(checks.is_size_or_name),
        updates.merge("inputs", "dims"),
        Flag("dim", "NAME=SIZE", texts.dims, kind="many"),
    ),
    Option(
        "values",
        "a constant value for an input of the model file: a number, a truth value, a string or a"
        " list",
        "a table: name of an input of the model file = the number, truth value, string or list of"
        " these that it always is",
        checks.table(checks.is_constant),
        updates.merge("inputs", "values"),
        Flag("value", "INPUT=VALUE", texts.pairs(texts.value), kind="many"),
    ),
    Option(
        "from_layers",
        "build what follows this layer: its output becomes an input; once for each layer",
        "a list of layers, whose outputs are the inputs of what is built",
        checks.is_strings,
        updates.layers("reading", "from_layers"),
        Flag("from-layer", "NAME", texts.every, kind="many"),
    ),
    Option(
        "to_layers",
        "build up to this layer: its output becomes an output; once for each layer",
        "a list of layers, whose outputs are the outputs of what is built",
        checks.is_strings,
        updates.layers("reading", "to_layers"),
        Flag("to-layer", "NAME", texts.every, kind="many"),
    ),
    Option(
        "inputs",
        'how an image becomes an input: INPUT={fit="crop", color="BGR", mean=127.5}',
        "a table: input name = {size, fit, color, mean, scale, layout}",
        checks.table(checks.is_table),
        updates.images("bundle", "images"),
        Flag("image", "INPUT={...}", texts.pairs(texts.image), kind="many"),
    ),
    Option(
        "labels",
        "a file of labels for an output, one a line",
        "a list of strings, or a table: output name = [strings], or {url, sha256, when} of a"
        " file that has them",
        lambda value: (
            checks.is_strings(value)
            or checks.table(checks.is_strings)(value)
            or checks.is_labels_file(value)
        ),
        updates.labels("bundle", "labels"),
        Flag("labels", "[OUTPUT=]FILE", texts.labels, kind="many", path=True),
    ),
    Option(
        "plugins",
        "a Python file that registers handlers",
        "a list of Python files",
        checks.is_strings,
        updates.append_paths("user_code", "plugins"),
        Flag("plugin", "FILE", texts.every, kind="many", path=True),
    ),
    Option(
        "operators",
        "a Python file that defines operators",
        "a list of Python files",
        checks.is_strings,
        updates.append_paths("user_code", "operators"),
        Flag("operators", "FILE", texts.every, kind="many", path=True),
    ),
    Option(
        "reads",
        "a file or folder outside of the project that the model's own code may read",
        "a list of files and folders",
        checks.is_strings,
        updates.append_paths("user_code", "reads"),
        Flag("reads", "PATH", texts.every, kind="many", path=True),
    ),
    Option(
        "trust_source",
        "run code that the model file contains",
        "true or false",
        checks.is_boolean,
        updates.assign("user_code", "trust_source"),
        Flag("trust-source", read=texts.switch, kind="switch"),
    ),
    Option(
        "winograd",
        "compute convolutions of stride 1 with fewer multiplications: on or off; default: on",
        "'on' or 'off'",
        lambda value: value in ("on", "off"),
        updates.assign_switch("computation", "winograd"),
        Flag("winograd", "on|off"),
    ),
    Option(
        "subgroup_matrices",
        f"let {' and '.join(MATRIX_BACKENDS)} multiply large float16 products by subgroup matrices,"
        " an experimental feature of Chromium, where the device has it: on or off; default: off;"
        f" needs precision = {FLOAT16!r}",
        "'on' or 'off'",
        lambda value: value in ("on", "off"),
        updates.assign_switch("computation", "matrices"),
        Flag("subgroup-matrices", "on|off"),
    ),
    Option(
        "tuned",
        "the file that webkiln tune writes",
        "the path of the file that webkiln tune writes",
        checks.is_path,
        updates.assign_path("computation", "tuned"),
        Flag("tuned", "FILE", path=True),
    ),
    Option(
        "reference",
        "inputs and outputs that the framework computed elsewhere, to verify against",
        "the path of an .npz file of inputs and outputs that the framework computed",
        checks.is_path,
        updates.assign_path("verification", "reference"),
        Flag("reference", "NPZ", path=True, in_imports=False),
    ),
    Option(
        "tolerances",
        "the largest error that verification accepts, for an encoding or for precision",
        "a table: encoding, or precision = positive number",
        checks.table(checks.is_positive),
        updates.tolerances("verification", "tolerances"),
        Flag(
            "tolerance", "ENCODING=ERROR", texts.pairs(texts.number), kind="many", in_imports=False
        ),
    ),
    Option(
        "sample_sizes",
        "the size that verification uses for an open size",
        "a table: name of a size = the positive size that verification uses",
        checks.table(checks.is_size),
        updates.merge("verification", "sample_sizes"),
        Flag("sample-size", "NAME=SIZE", texts.pairs(texts.size), kind="many", in_imports=False),
    ),
    Option(
        "format",
        f"how the bundle is written: {', '.join(FORMS)} (for a web server, an npm package, or one"
        " file); default: folder",
        f"one of {', '.join(FORMS)}",
        checks.is_string,
        updates.assign("bundle", "form", "kind"),
        Flag("format", "FORMAT", in_imports=False),
    ),
    Option(
        "hashed",
        "give files content-hashed names, so that caches may keep them for ever",
        "true or false",
        checks.is_boolean,
        updates.assign("bundle", "form", "hashed"),
        Flag("hashed", read=texts.switch, kind="switch", in_imports=False),
    ),
    Option(
        "package",
        "the name and version of an npm package",
        f"a table: one of {', '.join(PACKAGE)} = string",
        checks.table(checks.is_string),
        updates.merge("bundle", "form", "package"),
        Flag("package", "NAME@VERSION", texts.package, in_imports=False),
    ),
    Option(
        "package.license",
        "the license of an npm package, such as MIT",
        "",
        checks.is_string,
        updates.set_item("license", "bundle", "form", "package"),
        Flag("license", "LICENSE", in_imports=False),
    ),
    Option(
        "on_request",
        "build the model only if it is named",
        "true or false",
        checks.is_boolean,
        updates.assign("on_request"),
    ),
)
"""Every option except the source, in the order in which they apply."""

BY_KEY: Mapping[str, Option] = {option.key: option for option in OPTIONS}
BY_FLAG: Mapping[str, Option] = {option.flag.name: option for option in OPTIONS if option.flag.name}
PACKAGING = ("format", "hashed", "package", "license")
"""Flags of commands that write bundles."""
