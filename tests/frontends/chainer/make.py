"""Writes the corpus with Chainer, in its own environment (Python 3.9, chainer 7.8.1, numpy 1.23,
h5py):

    python tests/frontends/chainer/make.py

Each snapshot has an .npz file of the same stem with the inputs and outputs of Chainer.
"""

import sys
from pathlib import Path

import chainer
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import function_nets
import layer_nets
import layer_option_nets
import nets
import option_nets
import sequence_nets
import small
import window_nets

NETS = {
    net.__name__: net
    for module in (
        nets,
        function_nets,
        layer_nets,
        window_nets,
        sequence_nets,
        option_nets,
        layer_option_nets,
    )
    for net in module.NETS
}
CORPUS = Path(__file__).parent / "corpus"
HDF5 = ("resnet", "encoder", "sequence_links", "chainer_1")
TRAINER = ("classifier", "unet", "tokens")


def randomised(model, rng):
    """Replace the initial biases and statistics by random ones."""
    for name, param in sorted(model.namedparams()):
        if param.array.ndim < 2 or name.endswith("scale"):
            param.array[...] = (
                rng.uniform(0.5, 1.5, param.shape)
                if name.endswith(("gamma", "scale"))
                else rng.uniform(-0.5, 0.5, param.shape)
            )
    for link in model.links():
        for name in sorted(getattr(link, "_persistent", ())):
            value = getattr(link, name)
            if isinstance(value, np.ndarray):
                value[...] = (
                    rng.uniform(0.5, 1.5, value.shape)
                    if name == "avg_var"
                    else rng.uniform(-0.5, 0.5, value.shape)
                )


def leaves(name, value):
    """Arrays with the names of webkiln's inputs and outputs."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(key, item)]
    if isinstance(value, (list, tuple)):
        return [
            leaf
            for index, item in enumerate(value)
            for leaf in leaves("%s_%d" % (name, index), item)
        ]
    return [(name, value.array if isinstance(value, chainer.Variable) else value)]


def run(net):
    np.random.seed(3)
    nets.RNG.seed(7)
    model, inputs = net()
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        call = lambda: model(
            *[
                [chainer.Variable(x) for x in item]
                if isinstance(item, list)
                else chainer.Variable(item)
                for item in inputs
            ]
        )
        call()
        randomised(model, np.random.RandomState(5))
        outputs = call()
    named = [
        leaf
        for index, item in enumerate(inputs)
        for leaf in leaves(input_names(model)(index), item)
    ]
    return model, named, leaves("output", outputs)


def input_names(model):
    """The name of an input by its index."""
    import inspect

    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    function = (
        model.forward
        if hasattr(model, "forward") and "__call__" not in vars(type(model))
        else model
    )
    names = [
        item.name for item in inspect.signature(function).parameters.values() if item.kind in kinds
    ] or ["x"]
    return lambda index: names[index] if index < len(names) else "input_%d" % index


def write(net):
    model, inputs, outputs = run(net)
    name = net.__name__
    arrays = {"in/%s" % key: value for key, value in inputs}
    arrays.update({"out/%s" % key: value for key, value in outputs})
    np.savez_compressed(str(CORPUS / ("%s.npz" % name)), **arrays)
    path = str(CORPUS / ("%s.%s" % (name, "weights.h5" if name in HDF5 else "weights.npz")))
    if name in TRAINER:
        optimizer = chainer.optimizers.Adam().setup(
            chainer.Chain(predictor=model) if name == "classifier" else model
        )
        for param in optimizer.target.params():
            param.grad = np.zeros_like(param.array)
        optimizer.update()
        iterator = chainer.iterators.SerialIterator([0], 1)
        serializer = chainer.serializers.DictionarySerializer()
        chainer.training.updaters.StandardUpdater(iterator, optimizer).serialize(
            serializer["updater"]
        )
        np.savez_compressed(path, **serializer.target)
    elif name in HDF5:
        chainer.serializers.save_hdf5(path, model)
    else:
        chainer.serializers.save_npz(path, model)


STEPS = 3


def write_states():
    """Write the outputs of stateful links in consecutive calls."""
    np.random.seed(3)
    model = small.stateful()[0]
    randomised(model, np.random.RandomState(5))
    rng, arrays = np.random.RandomState(1), {}
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        for step in range(STEPS):
            x = rng.uniform(-1, 1, (2, 3)).astype(np.float32)
            arrays["in/%d" % step] = x
            arrays.update(
                {"out/%d/%s" % (step, name): value for name, value in leaves("output", model(x))}
            )
    np.savez_compressed(str(CORPUS.parent / "states.npz"), **arrays)
    chainer.serializers.save_npz(str(CORPUS.parent / "states.weights.npz"), model)


def main():
    CORPUS.mkdir(exist_ok=True)
    wrong = 0
    for net in [NETS[name] for name in sys.argv[1:] or NETS]:
        try:
            write(net)
        except Exception as error:  # noqa: BLE001 - the other nets are still written
            print("%s: %s: %s" % (net.__name__, type(error).__name__, str(error)[:600]))
            wrong += 1
    write_states()
    print(
        "%d nets, %d KiB"
        % (len(NETS), sum(path.stat().st_size for path in CORPUS.iterdir()) // 1024)
    )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
