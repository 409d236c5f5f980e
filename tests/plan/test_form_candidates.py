"""The candidates for the form of a product: few, of both families, and each computes the same. A
tuned choice serves its class of GPUs only.
"""

from functools import cache
from itertools import product
from textwrap import dedent

import numpy as np
import pytest

from tests.backends.adapters import ADAPTERS
from tests.backends.harness import Job, prepare, run_programs
from tests.backends.shaders import validate_wgsl
from tests.dawn import tint
from tests.programs import program
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.codegen import wgsl
from webkiln.codegen.sources import sources_of
from webkiln.codegen.templates import Templates
from webkiln.errors import RecipeError
from webkiln.nest.run import run_program
from webkiln.nest.target import GPU_CLASSES
from webkiln.nest.verify import verify
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import parse
from webkiln.plan.devices import EMULATED, class_of
from webkiln.plan.form_candidates import name_of
from webkiln.plan.product_forms import FORMS as ALL_FORMS
from webkiln.plan.product_forms import Choice
from webkiln.plan.tuning import FORMS, UNTUNED, Measured, Tuning, trials
from webkiln.plan.tuning_keys import device_of
from webkiln.shared_files import shared_root

WEBGPU = REGISTRY["webgpu"]
TEMPLATES = Templates(shared_root())
SIZES = {EMULATED: 1, **{gpu.name: gpu.multiprocessors for gpu in GPU_CLASSES}}
CONV = (
    '{"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],"pad_high":PAD,"pad_low":PAD,'
    '"strides":[1,1],"w_dims":[3,2,0,1],"x_dilation":GAPS,"x_dims":[0,3,1,2]}'
)
GRAPHS = {
    "long sum": """
        input x: float32[19,480]
        slot w: float32[480,72]
        slot b: float32[72]
        p: float32[19,72] = MatMul(x, w)
        s: float32[19,72] = Add(p, b)
        y: float32[19,72] = Relu(s)
    """,
    "short sum": """
        input x: float32[49,64]
        slot w: float32[64,256]
        y: float32[49,256] = MatMul(x, w)
    """,
    "columns that are no vectors": """
        input x: float32[19,440]
        slot w: float32[440,77]
        y: float32[19,77] = MatMul(x, w)
    """,
    "taps": f"""
        input x: float32[1,7,9,32]
        slot w: float32[3,3,32,40]
        y: float32[1,7,9,40] = Conv(x, w) {CONV.replace("PAD", "[1,1]").replace("GAPS", "[]")}
    """,
    "phases": f"""
        input x: float32[1,6,5,32]
        slot w: float32[4,4,32,48]
        y: float32[1,12,10,48] = Conv(x, w) {CONV.replace("PAD", "[2,2]").replace("GAPS", "[2,2]")}
    """,
}


def graph(name):
    return parse(f"graph g\n{dedent(GRAPHS[name]).strip()}\noutput y = y\n")


def job(name):
    model = graph(name)
    rng = np.random.default_rng(len(name))
    values = {
        item: rng.standard_normal(model.type(item).shape).astype(np.float32)
        for item in (*model.inputs, *sorted(model.slots))
    }
    slots = {item: values[item] for item in model.slots}
    return Job(model, {item: values[item] for item in model.inputs}, slots)


def launched(steps, multiprocessors):
    """The launches on a device."""
    for step in steps:
        if "multiprocessors" in step:
            block = "then" if multiprocessors >= step["multiprocessors"] else "else"
            yield from launched(step[block], multiprocessors)
        else:
            yield step


def on_device(name, multiprocessors, tuning=UNTUNED):
    document = program(graph(name), WEBGPU, tuning=tuning)
    return list(launched(document["main"], multiprocessors))


def decisions(launches):
    """Those about forms, by key."""
    return {
        item["key"]: item
        for step in launches
        for item in step.get("decided", ())
        if item["key"].startswith("product ")
    }


def kernels(name, multiprocessors, tuning=UNTUNED):
    return [step["kernel"] for step in on_device(name, multiprocessors, tuning)]


FIRST = Tuning(trial=(0, 0))
"""A tuning build, in which classes with equal forms have keys of their own."""


@pytest.mark.parametrize("name", GRAPHS)
def test_candidates_are_few_and_of_both_families(name):
    built = [
        program(graph(name), WEBGPU, tuning=Tuning(trial=trial))
        for trial in trials(WEBGPU.target)[:FORMS]
    ]
    for gpu in GPU_CLASSES:
        found = [decisions(launched(item["main"], gpu.multiprocessors)) for item in built]
        ((key, decision),) = found[0].items()
        assert device_of(key) == gpu.name
        names = [item for item, *_ in decision["candidates"]]
        assert 3 <= len(set(names)) == len(names) <= FORMS <= 10
        aligned = name != "columns that are no vectors"
        families = {"staged", "direct"} if aligned else {"staged"}
        assert {item.partition(" ")[0] for item in names} == families
        assert decision["chosen"] == names[0]
        assert all(ms > 0 and measured is None for _, ms, measured in decision["candidates"])
        assert {item[key]["chosen"] for item in found} == set(names), "trials use each of them"


@pytest.mark.parametrize("name", GRAPHS)
def test_the_first_candidate_is_the_usual_form(name):
    for multiprocessors in SIZES.values():
        assert kernels(name, multiprocessors, FIRST) == kernels(name, multiprocessors)


def test_all_launches_of_a_product_are_parts_of_its_choice():
    for trial in trials(WEBGPU.target)[:FORMS]:
        launches = on_device("long sum", 132, Tuning(trial=trial))
        ((_, decision),) = decisions(launches).items()
        assert len(launches) == 1 + ("parts" in decision["chosen"])
        assert all(decision in step["decided"] for step in launches)


@pytest.mark.parametrize("name", GRAPHS)
def test_every_candidate_computes_the_same(name):
    """In the interpreter, on devices of all classes."""
    item = job(name)
    (reference,) = run_graph(item.graph, item.inputs, item.weights)[0].values()
    for trial in trials(WEBGPU.target)[:FORMS]:
        planned = WEBGPU.plan(item.graph, tuning=Tuning(trial=trial))
        verify(planned)
        for multiprocessors in SIZES.values():
            memory = run_program(planned, {**item.inputs, **item.weights}, {}, multiprocessors)
            found = memory[planned.root("y")].reshape(reference.shape)
            assert relative_error(found, reference) < 1e-5, (trial, multiprocessors)


@pytest.mark.parametrize("name", representative(list(GRAPHS), "taps"))
def test_every_candidate_computes_the_same_in_chromium(name, tmp_path):
    item = job(name)
    (reference,) = run_graph(item.graph, item.inputs, item.weights)[0].values()
    used = trials(WEBGPU.target)[:FORMS]
    prepared = [prepare(item, WEBGPU, Tuning(trial=trial)) for trial in used]
    results = run_programs(prepared, "webgpu", tmp_path, adapter=ADAPTERS[132])
    for trial, outputs in zip(used, results, strict=True):
        assert relative_error(outputs["y"], reference) < 2e-5, trial


def forced(name, form):
    """The shaders of a graph whose product has a form on data-centre GPUs; None if it cannot."""
    (key,) = decisions(on_device(name, 132, FIRST))
    tuning = Tuning({key: Measured(form, {form: 0.25})})
    try:
        sources = sources_of(program(graph(name), WEBGPU, tuning=tuning))
    except RecipeError:
        return None
    return [wgsl.print_kernel(kernel, TEMPLATES) for kernel in sources.kernels.values()]


@cache
def shaders_of_forms():
    """Those of every form, of a convolution in one launch and a product in two."""
    found = {
        (form, name): forced(name, name_of(Choice(form, split, {})))
        for form, (name, split) in product(ALL_FORMS, {"taps": 1, "long sum": 3}.items())
    }
    assert {form for (form, _), shaders in found.items() if shaders} == set(ALL_FORMS)
    texts = sorted({text for shaders in found.values() for text in shaders or ()})
    assert len(texts) > 2 * len(ALL_FORMS)
    return texts


def test_tint_compiles_every_form(tmp_path):
    tint.validate({str(number): text for number, text in enumerate(shaders_of_forms())}, tmp_path)


def test_naga_compiles_every_form():
    validate_wgsl(shaders_of_forms(), "firefox")


OTHERS = (
    ("staged 4x4 by 8x8 of 16", 1),
    ("staged 4x8 by 8x8 of 16 in 6 parts", 2),
    ("direct 4x4 by 1x8x8 of 16 in 3 parts", 2),
)
"""Forms of the long sum, and their launches."""


@pytest.mark.parametrize("gpu", GPU_CLASSES, ids=lambda gpu: gpu.name)
@pytest.mark.parametrize(("form", "count"), OTHERS)
def test_a_tuned_form_serves_its_class(gpu, form, count):
    """Even one that this version would not list."""
    (key,) = decisions(on_device("long sum", gpu.multiprocessors, FIRST))
    tuning = Tuning({key: Measured(form, {form: 0.25, "another": 0.5})})
    for device, multiprocessors in SIZES.items():
        changed = on_device("long sum", multiprocessors, tuning)
        if device != gpu.name:
            usual = kernels("long sum", multiprocessors)
            assert [step["kernel"] for step in changed] == usual, device
            continue
        assert len(changed) == count
        ((_, decision),) = decisions(changed).items()
        assert decision["chosen"] == form
        assert [ms for name, _, ms in decision["candidates"] if name == form] == [0.25]


def test_classes_may_be_tuned_differently():
    tuning = Tuning(
        {
            key: Measured(form, {form: 0.25})
            for gpu, (form, _) in zip(GPU_CLASSES, OTHERS, strict=False)
            for key in decisions(on_device("long sum", gpu.multiprocessors, FIRST))
        }
    )
    for gpu, (form, _) in zip(GPU_CLASSES, OTHERS, strict=False):
        ((_, decision),) = decisions(on_device("long sum", gpu.multiprocessors, tuning)).items()
        assert decision["chosen"] == form


@pytest.mark.parametrize("form", ["staged 5x5", "staged 4x4 by 8x8 of 16 in 7 parts"])
def test_an_unknown_form_is_rejected(form):
    (key,) = decisions(on_device("long sum", 132, FIRST))
    tuning = Tuning({key: Measured(form, {form: 0.25})})
    with pytest.raises(RecipeError, match=rf"{key} has no candidate '{form}', only .*staged 4x4"):
        program(graph("long sum"), WEBGPU, tuning=tuning)


def test_a_form_that_needs_vectors_is_no_candidate_without():
    (key,) = decisions(on_device("columns that are no vectors", 132, FIRST))
    form = "direct 4x4 by 1x8x8 of 8"
    with pytest.raises(RecipeError, match="has no candidate"):
        program(
            graph("columns that are no vectors"),
            WEBGPU,
            tuning=Tuning({key: Measured(form, {form: 0.25})}),
        )


def test_tiles_of_an_emulated_gpu_are_its_own():
    """A choice for all devices serves it too, as in files that older versions wrote."""
    (step,) = on_device("short sum", 1)
    (decision,) = step["decided"]
    assert device_of(decision["key"]) == EMULATED
    for key in (decision["key"], decision["key"].replace(" on emulated", "")):
        tuning = Tuning({key: Measured("8x4", {"8x4": 0.25})})
        (changed,) = on_device("short sum", 1, tuning)
        assert [item["chosen"] for item in changed["decided"]] == ["8x4"]
        for gpu in GPU_CLASSES:
            count = gpu.multiprocessors
            assert kernels("short sum", count, tuning) == kernels("short sum", count)


def test_classes_of_devices():
    assert [class_of(count) for count in (1, 7, 8, 23, 24, 64, 131, 132, 500)] == [
        "emulated",
        "emulated",
        "integrated",
        "integrated",
        "laptop",
        "desktop",
        "desktop",
        "data centre",
        "data centre",
    ]
