"""Raw operators that are deliberately not supported: what they do, and what to use instead."""

from collections.abc import Mapping

from webkiln.frontends.nodes.handlers import Refusal

RANDOM = ("draws random numbers", "Save the model for inference, or make the numbers an input")
TEXT = ("works on strings", "Convert strings to numbers before the model")
FILES = (
    "reads a file or record",
    "Save a signature whose inputs are tensors, not files or records",
)
SPARSE = (
    "works on sparse or ragged tensors",
    "Make them dense before the model, with tf.sparse.to_dense or to_tensor()",
)
TRAINING = (
    "is only used in training",
    "Save the model for inference: model.export(), or signatures without an optimizer",
)
SPECIAL = (
    "is a special function that no backend supports",
    "Compute it before the model, or register a handler with an approximation",
)
FACTORS = (
    "computes a factorisation that is not unique",
    "Compute them before the model, or register a handler",
)
GPU = (
    "is for one kind of GPU, with a layout of weights that only its library defines",
    "Load the model on a computer without such a GPU, and save it again",
)
PYTHON = ("calls Python", "Write it with TensorFlow operators")
QUANTISED = (
    "uses the quantised dtypes of TensorFlow 1",
    "Convert the model to LiteRT (TensorFlow Lite) and build the .tflite file",
)
FORESTS = (
    "evaluates a decision forest, whose trees are in files of their own",
    "Build the part of the model without it, with --from-layer or --to-layer",
)
QUEUES = ("reads data in threads", "Save a signature whose inputs are tensors")

_REASONS: Mapping[Refusal, str] = {
    RANDOM: (
        "RandomGamma RandomPoissonV2 StatefulStandardNormalV2 StatefulUniform StatelessMultinomial"
    ),
    TEXT: (
        "AsString RegexFullMatch RegexReplace StaticRegexFullMatch StaticRegexReplace StringFormat"
        " StringJoin StringLength StringLower StringNGrams StringSplit StringSplitV2 StringStrip"
        " StringToHashBucket StringToHashBucketFast StringToHashBucketStrong StringToNumber"
        " StringUpper Substr UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode"
        " UnsortedSegmentJoin ReduceJoin"
    ),
    FILES: (
        "DecodeBmp DecodeCSV DecodeGif DecodeImage DecodeJpeg DecodeJSONExample DecodeAndCropJpeg"
        " DecodePng DecodeRaw DecodeWav EncodeJpeg EncodePng ParseExample ParseExampleV2"
        " ParseSequenceExample ParseSequenceExampleV2 ParseSingleExample ParseTensor ReadFile"
    ),
    SPARSE: (
        "RaggedGather RaggedRange RaggedTensorFromVariant RaggedTensorToSparse RaggedTensorToTensor"
        " RaggedTensorToVariant SparseAdd SparseConcat SparseCross SparseFillEmptyRows SparseMatMul"
        " SparseReduceSum SparseReorder SparseReshape SparseSegmentMean SparseSegmentSqrtN"
        " SparseSegmentSum SparseSlice SparseSoftmax SparseTensorDenseMatMul SparseToDense"
    ),
    TRAINING: (
        "AvgPoolGrad BiasAddGrad BroadcastGradientArgs Conv2DBackpropFilter Conv3DBackpropFilterV2"
        " DepthwiseConv2dNativeBackpropFilter EluGrad FusedBatchNormGradV3 MaxPoolGrad ReluGrad"
        " Relu6Grad SigmoidGrad SoftplusGrad StridedSliceGrad TanhGrad CTCLoss CTCLossV2"
        " NcclAllReduce"
    ),
    SPECIAL: (
        "BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1"
        " BesselK1e BesselY0 BesselY1 Betainc Dawsn Digamma Expint FresnelCos FresnelSin Igamma"
        " Igammac Lgamma Polygamma Spence Zeta"
    ),
    FACTORS: "Eig Lu MatrixLogarithm MatrixSquareRoot Qr SelfAdjointEig SelfAdjointEigV2 Svd",
    GPU: (
        "CudnnRNN CudnnRNNV2 CudnnRNNV3 CudnnRNNCanonicalToParams CudnnRNNCanonicalToParamsV2"
        " TPUPartitionedCall TRTEngineOp"
    ),
    FORESTS: (
        "SimpleMLCreateModelResource SimpleMLInferenceOpWithHandle"
        " SimpleMLLoadModelFromPathWithHandle"
    ),
    PYTHON: "EagerPyFunc PyFunc PyFuncStateless",
    QUANTISED: (
        "QuantizedAdd QuantizedAvgPool QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd"
        " QuantizedConcat QuantizedConv2D QuantizedDepthwiseConv2D QuantizedMatMul QuantizedMaxPool"
        " QuantizedMul QuantizedRelu QuantizedRelu6 QuantizedReshape QuantizeV2"
        " QuantizeDownAndShrinkRange Dequantize Requantize RequantizationRange"
    ),
    QUEUES: (
        "Batch BatchFunction FIFOQueueV2 PaddingFIFOQueueV2 QueueDequeueManyV2 QueueDequeueUpToV2"
        " QueueDequeueV2 RandomShuffleQueueV2 Iterator IteratorFromStringHandle"
        " IteratorFromStringHandleV2 IteratorGetNext IteratorGetNextSync IteratorV2"
        " OneShotIterator TFRecordReaderV2 BatchDataset BatchDatasetV2 MapDataset"
        " ParallelMapDataset ParallelMapDatasetV2 PrefetchDataset RangeDataset RepeatDataset"
        " ShuffleDataset TensorDataset TensorSliceDataset TFRecordDataset WholeFileReaderV2"
    ),
}
REFUSED: Mapping[str, Refusal] = {
    name: reason for reason, names in _REASONS.items() for name in names.split()
}
