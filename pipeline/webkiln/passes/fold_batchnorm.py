"""Fold batch normalisation into the convolution or matrix product that computes its input, or into
a multiplication and an addition. The new weights are computed by operators on slots.

before:
    graph g
    input x: float32[1,4,2]
    slot beta: float32[5]
    slot mean: float32[5]
    slot scale: float32[5]
    slot variance: float32[5]
    slot w: float32[3,2,5]
    c: float32[1,2,5] = Conv(x, w) {"dilation":[1],"out_dims":[0,2,1],"pad_high":[0],\
"pad_low":[0],"strides":[1],"w_dims":[2,1,0],"x_dims":[0,2,1]} @conv
    y: float32[1,2,5] = BatchNorm(c, scale, beta, mean, variance) {"axis":2,"epsilon":0.001} @bn
    output out = y

after:
    graph g
    input x: float32[1,4,2]
    slot beta: float32[5]
    slot mean: float32[5]
    slot scale: float32[5]
    slot variance: float32[5]
    slot w: float32[3,2,5]
    const y/epsilon: float32[] = [0.001]
    y/safe: float32[5] = Add(variance, y/epsilon) @bn
    y/rsqrt: float32[5] = Rsqrt(y/safe) @bn
    y/factor: float32[5] = Mul(scale, y/rsqrt) @bn
    y/scaled_mean: float32[5] = Mul(mean, y/factor) @bn
    y/shift: float32[5] = Sub(beta, y/scaled_mean) @bn
    y/kernel: float32[3,2,5] = Mul(w, y/factor) @bn
    y: float32[1,2,5] = Conv(x, y/kernel, y/shift) {"dilation":[1],"out_dims":[0,2,1],\
"pad_high":[0],"pad_low":[0],"strides":[1],"w_dims":[2,1,0],"x_dims":[0,2,1]} @conv+bn
    output out = y
"""

from webkiln.ir import rewrite
from webkiln.ir.graph import Graph, Node
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ops.conv_loops import Conv
from webkiln.ops.linear import MatMul
from webkiln.ops.normalization import BatchNorm
from webkiln.ops.replacement import Replacement
from webkiln.ops.shape import Broadcast, Reshape


def run(graph: Graph) -> Graph:
    return rewrite.apply(graph, fold)


def fold(view: GraphView, node: Node) -> Edit | None:
    if node.op != "BatchNorm" or not all(name in view.constant_names for name in node.inputs[1:]):
        return None
    writer = _Writer(view, node)
    factor, shift = writer.factor_and_shift()
    source = view.producer(node.inputs[0], "Conv")
    if (
        source is not None
        and all(name in view.constant_names for name in source.inputs[1:])
        and source.attrs_as(Conv).out_dims[1] == node.attrs_as(BatchNorm).axis
    ):
        return writer.fold_conv(source, factor, shift)
    folded = writer.fold_matmul(factor, shift)
    if folded is not None:
        return folded
    scaled = writer.add("scaled", "Mul", [node.inputs[0], writer.broadcastable(factor)])
    return writer.finish("Add", [scaled, writer.broadcastable(shift)])


class _Writer(Replacement):
    """Collects the nodes that replace one BatchNorm."""

    @property
    def attrs(self) -> BatchNorm:
        return self.node.attrs_as(BatchNorm)

    def factor_and_shift(self) -> tuple[str, str]:
        """scale / sqrt(variance + epsilon), and beta - mean * factor."""
        scale, beta, mean, variance = self.node.inputs[1:]
        epsilon = self.constant("epsilon", float(self.attrs.epsilon), self.type(variance).dtype)
        safe = self.add("safe", "Add", [variance, epsilon])
        factor = self.add("factor", "Mul", [scale, self.add("rsqrt", "Rsqrt", [safe])])
        return factor, self.add(
            "shift", "Sub", [beta, self.add("scaled_mean", "Mul", [mean, factor])]
        )

    def broadcastable(self, name: str) -> str:
        """Reshape a per-channel vector to broadcast along the normalised axis."""
        rank = self.view.type(self.node.inputs[0]).rank
        return self.along_axis(name, rank, self.attrs.axis)

    def along_axis(self, name: str, rank: int, axis: int) -> str:
        """Reshape a vector to `rank` dimensions, of which all but `axis` have size 1."""
        size = self.type(name).size
        if size == 1 or axis == rank - 1:
            return name
        shape = tuple(size if dim == axis else 1 for dim in range(rank))
        return self.add(f"{name.rsplit('/', 1)[-1]}_{axis}", "Reshape", [name], Reshape(shape))

    def bias(self, name: str | None, factor: str, shift: str) -> str:
        """bias * factor + shift."""
        if name is None:
            return shift
        return self.add("bias", "Add", [self.add("scaled_bias", "Mul", [name, factor]), shift])

    def fold_conv(self, conv: Node, factor: str, shift: str) -> Edit:
        x, kernel, *bias = conv.inputs
        rank, features = self.view.type(kernel).rank, conv.attrs_as(Conv).w_dims[0]
        weights = self.add("kernel", "Mul", [kernel, self.along_axis(factor, rank, features)])
        offset = self.bias(bias[0] if bias else None, factor, shift)
        if self.type(offset).size != self.view.type(kernel).shape[features]:
            offset = self.add(
                "wide", "Broadcast", [offset], Broadcast((self.view.type(kernel).shape[features],))
            )
        layer = f"{conv.layer}+{self.node.layer}"
        return self.finish("Conv", [x, weights, offset], conv.attrs, layer)

    def fold_matmul(self, factor: str, shift: str) -> Edit | None:
        """Fold into a MatMul, or a MatMul and an Add of a constant vector, that is normalised along
        the last axis. Returns None if the input has another form.
        """
        value = self.node.inputs[0]
        bias: str | None = None
        add = self.view.producer(value, "Add")
        if add is not None:
            constants = [name for name in add.inputs if name in self.view.constant_names]
            if len(constants) != 1 or self.view.type(constants[0]).rank > 1:
                return None
            bias = constants[0]
            value = next(name for name in add.inputs if name != bias)
        product = self.view.producer(value, "MatMul")
        shape = self.view.type(self.node.inputs[0]).shape
        if (
            product is None
            or product.inputs[1] not in self.view.constant_names
            or self.view.type(value).shape != shape
        ):
            return None
        if self.attrs.axis != len(shape) - 1:
            return None
        weight = product.inputs[1]
        rank = self.view.type(weight).rank
        axis = rank - 2 if product.attrs_as(MatMul).transpose_b else rank - 1
        scaled = self.add("kernel", "Mul", [weight, self.along_axis(factor, rank, axis)])
        operands = [product.inputs[0], scaled]
        total = self.add("product", "MatMul", operands, product.attrs, product.layer)
        offset = self.bias(bias, factor, shift)
        return self.finish("Add", [total, offset], layer=f"{product.layer}+{self.node.layer}")
