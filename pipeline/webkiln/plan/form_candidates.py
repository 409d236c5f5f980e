"""Candidates for the form of a product or convolution on a class of GPUs: the one that the cost
model expects to be fastest, a tuned one, or the next one to measure.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice, zip_longest

from webkiln.nest.schedule import Form
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
    whether vectors are aligned, and which loops are rows.
    """
    facts = [product.aligned, product.batch, product.rows, product.columns]
    facts += [size for shape in product.others for size in shape]
    return tuning_key(PRODUCT, call, constants, gpu.name, facts)


class FormCandidates:
    """The forms that compute a product, on all classes of GPUs."""

    def __init__(self, product: Product) -> None:
        self.size = product.size
        self.legal = {name_of(item): item for item in candidates(product)}

    def decide(
        self, key: str, gpu: GpuClass, usual: Choice, tuning: Tuning
    ) -> tuple[Choice, Decision]:
        """The form on a class of GPUs: the tuned one, the one that a trial requests, or the usual
        one. Raises RecipeError if there is no such form.
        """
        calls = len(self.size.shapes)
        times = {
            name: round(microseconds(self.size, item.form, item.split, gpu) / calls / 1e3, 5)
            for name, item in self.legal.items()
        }
        names = list(dict.fromkeys([name_of(usual), *self._listed(gpu, times)]))[:FORMS]
        entry = tuning.entry(key)
        if entry is not None and entry.chosen in self.legal and entry.chosen not in names:
            names.append(entry.chosen)
        decision = tuning.decide(key, [Candidate(name, times[name]) for name in names])
        return self.legal[names[decision.chosen]], decision

    def _listed(self, gpu: GpuClass, times: Mapping[str, float]) -> Iterator[str]:
        """The best ones of each family in turn, then the others, by the expected time. Direct ones
        that are expected to be slow are left out, but for the best.
        """
        ranked = sorted(self.legal, key=times.__getitem__)
        fast = [name for name in ranked if self._suits(name, gpu)]
        varied = list(self._few_splits(fast))
        families = []
        for staged in (True, False):
            best, every = (
                [name for name in names if self.legal[name].form.group.staged is staged]
                for names in (varied, ranked)
            )
            families.append(best or every[:1])
        for row in islice(zip_longest(*families), OF_FAMILY):
            yield from filter(None, row)
        yield from varied
        yield from fast

    def _suits(self, name: str, gpu: GpuClass) -> bool:
        item = self.legal[name]
        return suits(self.size, item.form, item.split, gpu)

    def _few_splits(self, ranked: Iterable[str]) -> Iterator[str]:
        """The first choices of each form."""
        seen: Counter[Form] = Counter()
        for name in ranked:
            form = self.legal[name].form
            seen[form] += 1
            if seen[form] <= SPLITS_OF_FORM:
                yield name


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
