"""The tables and fields of the TensorFlow Lite schema that are read."""

from collections.abc import Mapping

from webkiln.frontends.tflite.flatbuffer import TableField, fields
from webkiln.frontends.tflite.option_tables import OPTION_TABLES

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
