"""All nets of the corpus."""

from tests.frontends.caffe.activation_nets import ACTIVATION_NETS
from tests.frontends.caffe.arithmetic_nets import ARITHMETIC_NETS
from tests.frontends.caffe.detection_nets import DETECTION_NETS
from tests.frontends.caffe.format_nets import FORMAT_NETS
from tests.frontends.caffe.shape_nets import SHAPE_NETS
from tests.frontends.caffe.window_nets import WINDOW_NETS

NETS = {
    **ACTIVATION_NETS,
    **WINDOW_NETS,
    **ARITHMETIC_NETS,
    **SHAPE_NETS,
    **DETECTION_NETS,
    **FORMAT_NETS,
}
