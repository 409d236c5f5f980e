"""Raw operators on audio. https://www.tensorflow.org/api_docs/python/tf/raw_ops"""

from collections.abc import Mapping

from webkiln.frontends.nodes import audio
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ops.builder import Tensor


def spectrogram(call: NodeCall) -> Tensor:
    return audio.spectrogram(
        call.builder,
        call.tensor(0),
        call.attr("window_size"),
        call.attr("stride"),
        squared=call.flag("magnitude_squared"),
    )


def mfcc(call: NodeCall) -> Tensor:
    return audio.mfcc(
        call.builder,
        call.tensor(0),
        call.numbers(1).reshape(()).item(),
        (call.attr("lower_frequency_limit", 20.0), call.attr("upper_frequency_limit", 4000.0)),
        call.attr("filterbank_channel_count", 40),
        call.attr("dct_coefficient_count", 13),
    )


AUDIO: Mapping[str, NodeHandler] = {"AudioSpectrogram": spectrogram, "Mfcc": mfcc}
