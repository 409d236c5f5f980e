"""The graph to convert, and the names of its inputs and outputs."""

from webkiln.errors import RecipeError
from webkiln.frontends.nodes.reading import DistinctNames
from webkiln.frontends.tflite.file import FileSignature, TfliteFile


def select_graph(file: TfliteFile, signature: str) -> tuple[int, FileSignature | None]:
    """The graph to convert, with the names of its inputs and outputs."""
    by_key = {item.key: item for item in file.signatures}
    if signature in by_key and signature:
        return by_key[signature].subgraph, by_key[signature]
    names = [table.text("name") for table in file.subgraphs]
    if signature:
        if signature not in names:
            available = (
                ", ".join(dict.fromkeys((*by_key, *filter(None, names)))) or "none has a name"
            )
            raise RecipeError(
                f"{file.name}: there is no signature or graph {signature!r}; available: {available}"
            )
        index = names.index(signature)
    else:
        index = 0
    of_graph = [item for item in file.signatures if item.subgraph == index]
    return index, of_graph[0] if len(of_graph) == 1 else None


def end_names(
    file: TfliteFile, index: int, signature: FileSignature | None
) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """The inputs and outputs of a graph, by tensor, with the names of the signature or of the
    tensors.
    """
    tensors = file.tensors(index)

    def ends(role: str) -> list[tuple[int, str]]:
        names, by_tensor = DistinctNames(), getattr(signature, role) if signature else {}
        return [
            (number, names.distinct(by_tensor.get(number) or tensors[number].name))
            for number in file.ends(index, role)
        ]

    return ends("inputs"), ends("outputs")


def input_names(file: TfliteFile, signature: str) -> tuple[list[str], list[str]]:
    """The names of the converted graph's inputs and outputs, in the file's order."""
    inputs, outputs = end_names(file, *select_graph(file, signature))
    return [name for _, name in inputs], [name for _, name in outputs]
