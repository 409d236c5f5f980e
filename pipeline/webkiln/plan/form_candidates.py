"""Candidates for the form of a product or convolution on a class of GPUs: the one that the cost
model expects to be fastest, a tuned one, or the next one to measure.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice, zip_longest

from webkiln.nest.steps import NestCall
from webkiln.nest.target import GpuClass
from webkiln.plan.gpu_cost import microseconds, suits
from webkiln.plan.product_forms import Choice, Product, candidates
from webkiln.plan.tuning import FORMS, PRODUCT, Candidate, Decision, Tuning
from webkiln.plan.tuning_keys import tuning_key

OF_FAMILY = 3
"""Staged candidates that are listed before slower ones, and direct ones."""
SPLITS_OF_FORM = 2
"""Numbers of parts that are listed for the same form."""


def form_key(call: NestCall, product: Product, constants: Collection[str], gpu: GpuClass) -> str:
    """The key of a call that computes a product. The epilogue is part of it as far as it decides
    whether vectors are aligned.
    """
    return tuning_key(PRODUCT, call, constants, gpu.name, [product.aligned])


def decide(
    product: Product, key: str, gpu: GpuClass, usual: Choice, tuning: Tuning
) -> tuple[Choice, Decision]:
    """The form of a product on a class of GPUs: the tuned one, the one that a trial requests, or
    the usual one. Raises RecipeError if there is no such form.
    """
    legal = {name_of(item): item for item in candidates(product)}
    names = list(dict.fromkeys(map(name_of, _listed(product, gpu, usual))))[:FORMS]
    entry = tuning.entry(key)
    if entry is not None and entry.chosen in legal and entry.chosen not in names:
        names.append(entry.chosen)
    times = (_milliseconds(product, legal[name], gpu) for name in names)
    decision = tuning.decide(key, list(map(Candidate, names, times)))
    return legal[names[decision.chosen]], decision


def name_of(choice: Choice) -> str:
    """`staged 4x8 by 16x8 of 16 in 3 parts`: the rows and columns of an invocation, those of a
    workgroup in invocations, followed by the invocations that share a sum if there are several, the
    terms of a step, and the parts of the sum if it is split.
    """
    form, group = choice.form, choice.form.group
    kind = "staged" if group.staged else "direct"
    shared = f"x{group.parts}" if group.parts > 1 else ""
    parts = f" in {choice.split} parts" if choice.split > 1 else ""
    return (
        f"{kind} {form.count}x{form.lanes} by {group.rows}x{group.columns}{shared}"
        f" of {group.depth}{parts}"
    )


def _milliseconds(product: Product, choice: Choice, gpu: GpuClass) -> float:
    return round(microseconds(product.size, choice.form, choice.split, gpu) / 1e3, 5)


def _listed(product: Product, gpu: GpuClass, usual: Choice) -> Iterator[Choice]:
    """The usual choice, the best ones of each family in turn, then the others, each by the expected
    time. Direct ones that are expected to be slow are left out, but for the best.
    """
    ranked = sorted(candidates(product), key=lambda item: _milliseconds(product, item, gpu))
    fast = [item for item in ranked if suits(product.size, item.form, item.split, gpu)]
    varied = list(_few_splits(fast))
    families = []
    for staged in (True, False):
        best = [item for item in varied if item.form.group.staged is staged]
        families.append(best or [item for item in ranked if item.form.group.staged is staged][:1])
    yield usual
    for row in islice(zip_longest(*families), OF_FAMILY):
        yield from filter(None, row)
    yield from varied
    yield from fast


def _few_splits(ranked: Iterable[Choice]) -> Iterator[Choice]:
    """The first choices of each form."""
    seen: dict[object, int] = {}
    for item in ranked:
        seen[item.form] = seen.get(item.form, 0) + 1
        if seen[item.form] <= SPLITS_OF_FORM:
            yield item
