"""The schema of TensorFlow Lite: the tables and fields that are read, and the numbers of operators
and types.
"""

from collections.abc import Mapping

from webkiln.frontends.tflite.flatbuffer import TableField, fields

NAMES = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED
HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1
RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD
UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM
STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX
MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL
LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN
FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V
UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF
WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL
PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND
HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS
RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD
UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC
STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE
STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND
STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER
STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE
STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL
STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR
REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
"""

OPERATORS = tuple(NAMES.split())
"""By their numbers."""

DTYPES = (
    "float32",
    "float16",
    "int32",
    "uint8",
    "int64",
    "string",
    "bool",
    "int16",
    "complex64",
    "int8",
    "float64",
    "complex128",
    "uint64",
    "resource",
    "variant",
    "uint32",
    "uint16",
    "int4",
    "bfloat16",
    "int2",
    "uint4",
    "float8_e4m3fn",
    "float8_e5m2",
)
PADDINGS = ("SAME", "VALID")
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "padding": PADDINGS,
    "fused_activation_function": ACTIVATIONS,
    "out_data_type": DTYPES,
    "in_data_type": DTYPES,
    "out_type": DTYPES,
    "output_type": DTYPES,
    "idx_out_type": DTYPES,
    "mode": ("REFLECT", "SYMMETRIC"),
    "combiner": ("SUM", "MEAN", "SQRTN"),
    "kernel_type": ("FULL", "BASIC"),
    "weights_format": ("DEFAULT", "SHUFFLED4x16INT8"),
}
"""Enumerated options."""

OPTION_TABLES: Mapping[str, tuple[int, dict[str, TableField]]] = {
    "Add": (11, fields(fused_activation_function="byte", pot_scale_int16=("bool", True))),
    "Pool2D": (
        5,
        fields(
            padding="byte",
            stride_w="int",
            stride_h="int",
            filter_width="int",
            filter_height="int",
            fused_activation_function="byte",
        ),
    ),
    "Concatenation": (10, fields(axis="int", fused_activation_function="byte")),
    "Conv2D": (
        1,
        fields(
            padding="byte",
            stride_w="int",
            stride_h="int",
            fused_activation_function="byte",
            dilation_w_factor=("int", 1),
            dilation_h_factor=("int", 1),
            quantized_bias_type="byte",
        ),
    ),
    "DepthwiseConv2D": (
        2,
        fields(
            padding="byte",
            stride_w="int",
            stride_h="int",
            depth_multiplier="int",
            fused_activation_function="byte",
            dilation_w_factor=("int", 1),
            dilation_h_factor=("int", 1),
        ),
    ),
    "FullyConnected": (
        8,
        fields(
            fused_activation_function="byte",
            weights_format="byte",
            keep_num_dims="bool",
            asymmetric_quantize_inputs="bool",
            quantized_bias_type="byte",
        ),
    ),
    "L2Norm": (12, fields(fused_activation_function="byte")),
    "LocalResponseNormalization": (
        13,
        fields(radius="int", bias="float", alpha="float", beta="float"),
    ),
    "LSTM": (
        14,
        fields(
            fused_activation_function="byte",
            cell_clip="float",
            proj_clip="float",
            kernel_type="byte",
            asymmetric_quantize_inputs="bool",
        ),
    ),
    "Mul": (21, fields(fused_activation_function="byte")),
    "Reshape": (17, fields(new_shape="[int]")),
    "ResizeBilinear": (
        15,
        fields(new_height="int", new_width="int", align_corners="bool", half_pixel_centers="bool"),
    ),
    "RNN": (7, fields(fused_activation_function="byte", asymmetric_quantize_inputs="bool")),
    "Softmax": (9, fields(beta="float")),
    "SpaceToDepth": (19, fields(block_size="int")),
    "SVDF": (
        6,
        fields(rank="int", fused_activation_function="byte", asymmetric_quantize_inputs="bool"),
    ),
    "Call": (16, fields(subgraph="uint")),
    "EmbeddingLookupSparse": (20, fields(combiner="byte")),
    "SequenceRNN": (
        31,
        fields(
            time_major="bool", fused_activation_function="byte", asymmetric_quantize_inputs="bool"
        ),
    ),
    "Gather": (23, fields(axis="int", batch_dims="int")),
    "Reducer": (27, fields(keep_dims="bool")),
    "Sub": (28, fields(fused_activation_function="byte", pot_scale_int16=("bool", True))),
    "Div": (29, fields(fused_activation_function="byte")),
    "Squeeze": (30, fields(squeeze_dims="[int]")),
    "UnidirectionalSequenceLSTM": (
        71,
        fields(
            fused_activation_function="byte",
            cell_clip="float",
            proj_clip="float",
            time_major="bool",
            asymmetric_quantize_inputs="bool",
            diagonal_recurrent_tensors="bool",
        ),
    ),
    "StridedSlice": (
        32,
        fields(
            begin_mask="int",
            end_mask="int",
            ellipsis_mask="int",
            new_axis_mask="int",
            shrink_axis_mask="int",
            offset="bool",
        ),
    ),
    "BidirectionalSequenceRNN": (
        70,
        fields(
            time_major="bool",
            fused_activation_function="byte",
            merge_outputs="bool",
            asymmetric_quantize_inputs="bool",
        ),
    ),
    "Split": (35, fields(num_splits="int")),
    "BidirectionalSequenceLSTM": (
        69,
        fields(
            fused_activation_function="byte",
            cell_clip="float",
            proj_clip="float",
            merge_outputs="bool",
            time_major=("bool", True),
            asymmetric_quantize_inputs="bool",
        ),
    ),
    "Cast": (37, fields(in_data_type="byte", out_data_type="byte")),
    "ArgMax": (40, fields(output_type="byte")),
    "ArgMin": (57, fields(output_type="byte")),
    "TransposeConv": (
        49,
        fields(
            padding="byte",
            stride_w="int",
            stride_h="int",
            fused_activation_function="byte",
            quantized_bias_type="byte",
        ),
    ),
    "Shape": (55, fields(out_type="byte")),
    "FakeQuant": (58, fields(min="float", max="float", num_bits="int", narrow_range="bool")),
    "Pack": (59, fields(values_count="int", axis="int")),
    "OneHot": (61, fields(axis="int")),
    "Unpack": (64, fields(num="int", axis="int")),
    "ResizeNearestNeighbor": (74, fields(align_corners="bool", half_pixel_centers="bool")),
    "LeakyRelu": (75, fields(alpha="float")),
    "MirrorPad": (77, fields(mode="byte")),
    "SplitV": (79, fields(num_splits="int")),
    "Unique": (80, fields(idx_out_type=("byte", 2))),
    "ReverseSequence": (87, fields(seq_dim="int", batch_dim="int")),
    "If": (92, fields(then_subgraph_index="int", else_subgraph_index="int")),
    "While": (93, fields(cond_subgraph_index="int", body_subgraph_index="int")),
    "DepthToSpace": (94, fields(block_size="int")),
    "BatchMatMul": (101, fields(adj_x="bool", adj_y="bool", asymmetric_quantize_inputs="bool")),
    "Cumsum": (102, fields(exclusive="bool", reverse="bool")),
    "CallOnce": (103, fields(init_subgraph_index="int")),
    "Conv3D": (
        106,
        fields(
            padding="byte",
            stride_d="int",
            stride_w="int",
            stride_h="int",
            fused_activation_function="byte",
            dilation_d_factor=("int", 1),
            dilation_w_factor=("int", 1),
            dilation_h_factor=("int", 1),
        ),
    ),
    "Hashtable": (107, fields(table_id="int", key_dtype="byte", value_dtype="byte")),
    "VarHandle": (111, fields(container="string", shared_name="string")),
    "Random": (114, fields(seed="long", seed2="long")),
    "Bucketize": (115, fields(boundaries="[float]")),
    "Gelu": (116, fields(approximate="bool")),
}
"""The fields of options, with their number in the union."""

OPTIONS: Mapping[str, str] = {
    "ADD": "Add",
    "AVERAGE_POOL_2D": "Pool2D",
    "MAX_POOL_2D": "Pool2D",
    "L2_POOL_2D": "Pool2D",
    "CONCATENATION": "Concatenation",
    "CONV_2D": "Conv2D",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2D",
    "FULLY_CONNECTED": "FullyConnected",
    "L2_NORMALIZATION": "L2Norm",
    "LOCAL_RESPONSE_NORMALIZATION": "LocalResponseNormalization",
    "LSTM": "LSTM",
    "MUL": "Mul",
    "RESHAPE": "Reshape",
    "RESIZE_BILINEAR": "ResizeBilinear",
    "RNN": "RNN",
    "SOFTMAX": "Softmax",
    "SPACE_TO_DEPTH": "SpaceToDepth",
    "SVDF": "SVDF",
    "CALL": "Call",
    "EMBEDDING_LOOKUP_SPARSE": "EmbeddingLookupSparse",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNN",
    "GATHER": "Gather",
    "MEAN": "Reducer",
    "SUM": "Reducer",
    "REDUCE_PROD": "Reducer",
    "REDUCE_MAX": "Reducer",
    "REDUCE_MIN": "Reducer",
    "REDUCE_ANY": "Reducer",
    "REDUCE_ALL": "Reducer",
    "SUB": "Sub",
    "DIV": "Div",
    "SQUEEZE": "Squeeze",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTM",
    "STRIDED_SLICE": "StridedSlice",
    "BIDIRECTIONAL_SEQUENCE_RNN": "BidirectionalSequenceRNN",
    "SPLIT": "Split",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "BidirectionalSequenceLSTM",
    "CAST": "Cast",
    "ARG_MAX": "ArgMax",
    "ARG_MIN": "ArgMin",
    "TRANSPOSE_CONV": "TransposeConv",
    "SHAPE": "Shape",
    "FAKE_QUANT": "FakeQuant",
    "PACK": "Pack",
    "ONE_HOT": "OneHot",
    "UNPACK": "Unpack",
    "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighbor",
    "LEAKY_RELU": "LeakyRelu",
    "MIRROR_PAD": "MirrorPad",
    "SPLIT_V": "SplitV",
    "UNIQUE": "Unique",
    "REVERSE_SEQUENCE": "ReverseSequence",
    "IF": "If",
    "WHILE": "While",
    "DEPTH_TO_SPACE": "DepthToSpace",
    "BATCH_MATMUL": "BatchMatMul",
    "CUMSUM": "Cumsum",
    "CALL_ONCE": "CallOnce",
    "CONV_3D": "Conv3D",
    "CONV_3D_TRANSPOSE": "Conv3D",
    "HASHTABLE": "Hashtable",
    "VAR_HANDLE": "VarHandle",
    "RANDOM_STANDARD_NORMAL": "Random",
    "RANDOM_UNIFORM": "Random",
    "MULTINOMIAL": "Random",
    "BUCKETIZE": "Bucketize",
    "GELU": "Gelu",
}
"""The options of each operator. Other operators have none."""

SCHEMA: Mapping[str, Mapping[str, TableField]] = {
    "Model": fields(
        version="uint",
        operator_codes="[OperatorCode]",
        subgraphs="[SubGraph]",
        description="string",
        buffers="[Buffer]",
        metadata_buffer="[int]",
        metadata="[Metadata]",
        signature_defs="[SignatureDef]",
        external_buffer_groups="[Unread]",
        external_buffers="[Unread]",
    ),
    "OperatorCode": fields(
        deprecated_builtin_code="byte", custom_code="string", version=("int", 1), builtin_code="int"
    ),
    "SubGraph": fields(
        tensors="[Tensor]", inputs="[int]", outputs="[int]", operators="[Operator]", name="string"
    ),
    "Tensor": fields(
        shape="[int]",
        type="byte",
        buffer="uint",
        name="string",
        quantization="Quantization",
        is_variable="bool",
        sparsity="Sparsity",
        shape_signature="[int]",
        has_rank="bool",
        variant_tensors="[Unread]",
        external_buffer="uint",
    ),
    "Quantization": fields(
        min="[float]",
        max="[float]",
        scale="[float]",
        zero_point="[long]",
        details="union",
        quantized_dimension="int",
    ),
    "Sparsity": fields(
        traversal_order="[int]", block_map="[int]", dim_metadata="[DimensionMetadata]"
    ),
    "DimensionMetadata": fields(
        format="byte", dense_size="int", array_segments="union", array_indices="union"
    ),
    "Int32Vector": fields(values="[int]"),
    "Uint16Vector": fields(values="[ushort]"),
    "Uint8Vector": fields(values="[ubyte]"),
    "Operator": fields(
        opcode_index="uint",
        inputs="[int]",
        outputs="[int]",
        builtin_options="union",
        custom_options="[ubyte]",
        custom_options_format="byte",
        mutating_variable_inputs="[bool]",
        intermediates="[int]",
        large_custom_options_offset="ulong",
        large_custom_options_size="ulong",
        builtin_options_2="union",
    ),
    "Buffer": fields(data="[ubyte]", offset="ulong", size="ulong"),
    "Metadata": fields(name="string", buffer="uint"),
    "TensorMap": fields(name="string", tensor_index="uint"),
    "SignatureDef": fields(
        inputs="[TensorMap]",
        outputs="[TensorMap]",
        signature_key="string",
        deprecated_tag="string",
        subgraph_index="uint",
    ),
    "Unread": {},
    **{name: layout for name, (_, layout) in OPTION_TABLES.items()},
}

METADATA: Mapping[str, Mapping[str, TableField]] = {
    "ModelMetadata": fields(
        name="string",
        description="string",
        version="string",
        subgraph_metadata="[SubGraphMetadata]",
        author="string",
        license="string",
        associated_files="[AssociatedFile]",
        min_parser_version="string",
    ),
    "SubGraphMetadata": fields(
        name="string",
        description="string",
        input_tensor_metadata="[TensorMetadata]",
        output_tensor_metadata="[TensorMetadata]",
        associated_files="[AssociatedFile]",
    ),
    "TensorMetadata": fields(
        name="string",
        description="string",
        dimension_names="[string]",
        content="Unread",
        process_units="[Unread]",
        stats="Unread",
        associated_files="[AssociatedFile]",
    ),
    "AssociatedFile": fields(
        name="string", description="string", type="byte", locale="string", version="string"
    ),
    "Unread": {},
}
"""The tables of the metadata: the meaning of tensors, and the files in the appended archive."""

AXIS_LABELS = 2
"""The type of an associated file with the labels of an axis."""
