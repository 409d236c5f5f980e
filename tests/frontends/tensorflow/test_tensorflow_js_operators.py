"""Every operator that the converter of TensorFlow.js 4.22 knows is converted, or is refused with a
reason.
"""

from tests.docs.tensorflow_page import STRUCTURAL
from webkiln.frontends.tensorflow.converter import HANDLERS
from webkiln.frontends.tensorflow.initializers import IMPORTING

OPERATORS = """
Abs Acos Acosh Add AddN AddV2 All Any ArgMax ArgMin Asin Asinh Atan Atan2 Atanh AvgPool
AvgPool3D BatchMatMul BatchMatMulV2 BatchToSpaceND BiasAdd Bincount BitwiseAnd BroadcastArgs
BroadcastTo Cast Ceil ClipByValue Complex ComplexAbs Concat ConcatV2 Const Conv1D Conv2D
Conv2DBackpropInput Conv3D Cos Cosh CropAndResize Cumprod Cumsum DenseBincount DepthToSpace
DepthwiseConv2d DepthwiseConv2dNative Dilation2D Div DivNoNan Einsum Elu EmptyTensorList
EnsureShape Enter Equal Erf EuclideanNorm Exit Exp ExpandDims Expm1 FFT FakeQuantWithMinMaxVars
Fill Floor FloorDiv FloorMod FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3
FusedDepthwiseConv2dNative Gather GatherNd GatherV2 Greater GreaterEqual HashTable HashTableV2
IFFT IRFFT Identity IdentityN If Imag ImageProjectiveTransformV3 InitializeTable
InitializeTableV2 IsFinite IsInf IsNan LRN LeakyRelu Less LessEqual LinSpace ListDiff Log Log1p
LogSoftmax LogicalAnd LogicalNot LogicalOr LookupTableFind LookupTableFindV2 LookupTableImport
LookupTableImportV2 LookupTableSize LookupTableSizeV2 LoopCond LowerBound MatMul MatrixBandPart
Max MaxPool MaxPool3D MaxPoolWithArgmax Maximum Mean Merge Min Minimum MirrorPad Mod Mul
Multinomial Neg NextIteration NoOp NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4
NonMaxSuppressionV5 NotEqual OneHot Ones OnesLike Pack Pad PadV2 Placeholder
PlaceholderWithDefault Pow Prelu Print Prod RFFT RaggedGather RaggedRange RaggedTensorToTensor
RandomStandardNormal RandomUniform RandomUniformInt Range Rank Real RealDiv Reciprocal Relu
Relu6 Reshape ResizeBilinear ResizeNearestNeighbor Reverse ReverseV2 Round Rsqrt ScatterNd
Select SelectV2 Selu Shape ShapeN Sigmoid Sign SimpleMLCreateModelResource
SimpleMLInferenceOpWithHandle SimpleMLLoadModelFromPathWithHandle Sin Sinh Size Slice Snapshot
Softmax Softplus SpaceToBatchND SparseFillEmptyRows SparseReshape SparseSegmentMean
SparseSegmentSum SparseToDense Split SplitV Sqrt Square SquaredDifference Squeeze StatelessIf
StatelessWhile StaticRegexReplace StopGradient StridedSlice StringNGrams StringSplit
StringToHashBucketFast Sub Sum Switch Tan Tanh TensorArrayCloseV3 TensorArrayConcatV3
TensorArrayGatherV3 TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3
TensorArrayV3 TensorArrayWriteV3 TensorListConcat TensorListConcatV2 TensorListFromTensor
TensorListGather TensorListGetItem TensorListLength TensorListPopBack TensorListPushBack
TensorListReserve TensorListResize TensorListScatter TensorListScatterV2 TensorListSetItem
TensorListSplit TensorListStack TensorScatterUpdate Tile TopKV2 Transpose TruncatedNormal Unique
UniqueV2 Unpack UpperBound Where While Zeros ZerosLike _FusedConv2D _FusedMatMul
"""
NOT_IN_FILES = {
    "Conv1D": "TensorFlow writes Conv2D between ExpandDims and Squeeze",
    "DepthwiseConv2d": "TensorFlow writes DepthwiseConv2dNative",
    "Ones": "TensorFlow writes Fill or a constant",
    "Zeros": "TensorFlow writes Fill or a constant",
}
"""Names in the list that are not operators of TensorFlow, with what is written instead."""


def test_every_operator_is_converted_or_refused() -> None:
    converted = {*HANDLERS.folds.ops, *STRUCTURAL, *IMPORTING}
    converted |= {op for table in HANDLERS.tables.values() for op in table}
    unknown = set(OPERATORS.split()) - converted - set(HANDLERS.refused)
    assert unknown == set(NOT_IN_FILES)


def test_refused_operators_have_a_reason_and_a_hint() -> None:
    refused = [HANDLERS.refused[op] for op in OPERATORS.split() if op in HANDLERS.refused]
    assert len(refused) > 10
    assert all(reason and hint for reason, hint in refused)
