"""The messages of TensorFlow's files: the fields that inference needs.

https://github.com/tensorflow/tensorflow/tree/master/tensorflow/core/protobuf
"""

from webkiln.frontends.protobuf.messages import message_types

DTYPES = {
    1: "float32",
    2: "float64",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    9: "int64",
    10: "bool",
    17: "uint16",
    19: "float16",
    22: "uint32",
    23: "uint64",
}
COMPLEX = {8: "complex64", 18: "complex128"}
"""Complex dtypes, which become two elements of a last axis."""
STRING = 7
OTHERS = {
    STRING: "string",
    11: "qint8",
    12: "quint8",
    13: "qint32",
    14: "bfloat16",
    20: "resource",
    21: "variant",
}
"""Unsupported dtypes, by TensorFlow's names."""


_NAMES = {
    0: "INVALID",
    1: "FLOAT",
    2: "DOUBLE",
    3: "INT32",
    4: "UINT8",
    5: "INT16",
    6: "INT8",
    7: "STRING",
    8: "COMPLEX64",
    9: "INT64",
    10: "BOOL",
    11: "QINT8",
    12: "QUINT8",
    13: "QINT32",
    14: "BFLOAT16",
    15: "QINT16",
    16: "QUINT16",
    17: "UINT16",
    18: "COMPLEX128",
    19: "HALF",
    20: "RESOURCE",
    21: "VARIANT",
    22: "UINT32",
    23: "UINT64",
    24: "FLOAT8_E5M2",
    25: "FLOAT8_E4M3FN",
    29: "INT4",
    30: "UINT4",
}
"""TensorFlow's names of dtypes, by number. Reference dtypes have numbers that are larger by 100."""
_TYPES_OF_DATA = "; ".join(
    f"DT_{name}{suffix} = {number + more}"
    for suffix, more in (("", 0), ("_REF", 100))
    for number, name in _NAMES.items()
    if number + more != 100
)

_TYPES = message_types(
    "webkiln.tensorflow",
    {"DataType": _TYPES_OF_DATA},
    {
        "Dim": "1 size int64; 2 name string",
        "TensorShape": "2 dim Dim*; 3 unknown_rank bool",
        "Tensor": (
            "1 dtype DataType; 2 tensor_shape TensorShape; 4 tensor_content bytes; 5 float_val"
            " float**; 6 double_val double**; 7 int_val int32**; 8 string_val bytes*; 9"
            " scomplex_val float**; 10 int64_val int64**; 11 bool_val bool**; 12 dcomplex_val"
            " double**; 13 half_val int32**; 16 uint32_val uint32**; 17 uint64_val uint64**"
        ),
        "Values": (
            "2 s bytes*; 3 i int64**; 4 f float**; 5 b bool**; 6 type DataType**; 7 shape"
            " TensorShape*; 8 tensor Tensor*; 9 func NamedFunction*"
        ),
        "NamedFunction": "1 name string; 2 attr map<string, Attribute>",
        "Attribute": (
            "1 list Values; 2 s bytes; 3 i int64; 4 f float; 5 b bool; 6 type DataType; 7 shape"
            " TensorShape; 8 tensor Tensor; 9 placeholder string; 10 func NamedFunction"
        ),
        "Node": "1 name string; 2 op string; 3 input string*; 5 attr map<string, Attribute>",
        "Argument": (
            "1 name string; 3 type DataType; 4 type_attr string; 5 number_attr string; 6"
            " type_list_attr string"
        ),
        "Operator": "1 name string; 2 input_arg Argument*; 3 output_arg Argument*",
        "Operators": "1 op Operator*",
        "Function": (
            "1 signature Operator; 3 node_def Node*; 4 ret map<string, string>; 5 attr map<string,"
            " Attribute>"
        ),
        "Library": "1 function Function*",
        "Versions": "1 producer int32",
        "Graph": "1 node Node*; 2 library Library; 4 versions Versions",
        "Information": "2 stripped_op_list Operators; 4 tags string*; 5 tensorflow_version string",
        "TensorName": "1 name string; 2 dtype DataType; 3 tensor_shape TensorShape",
        "Signature": (
            "1 inputs map<string, TensorName>; 2 outputs map<string, TensorName>; 3 method_name"
            " string"
        ),
        "Saver": "1 filename_tensor_name string; 3 restore_op_name string",
        "MetaGraph": (
            "1 meta_info_def Information; 2 graph_def Graph; 3 saver_def Saver; 5 signature_def"
            " map<string, Signature>; 7 object_graph_def SavedObjects"
        ),
        "SavedModel": "1 saved_model_schema_version int64; 2 meta_graphs MetaGraph*",
        "SavedObjects": "1 nodes SavedObject*; 2 concrete_functions map<string, SavedFunction>",
        "SavedObject": "1 children Child*",
        "SavedFunction": "2 bound_inputs int32**",
        "Child": "1 node_id int32; 2 local_name string",
        "TrackableObjects": "1 nodes TrackableObject*",
        "TrackableObject": "1 children Child*; 2 attributes StoredAttribute*",
        "StoredAttribute": "3 checkpoint_key string",
        "BundleHeader": "1 num_shards int32; 2 endianness int32",
        "BundleEntry": (
            "1 dtype DataType; 2 shape TensorShape; 3 shard_id int32; 4 offset int64; 5 size int64;"
            " 7 slices TensorSlice*"
        ),
        "TensorSlice": "1 extent Extent*",
        "Extent": "1 start int64; 2 length int64",
    },
)
_TENSOR = {4: 4}
_NODE = {5: {2: {1: {8: _TENSOR}, 8: _TENSOR}}}
GRAPH_LAYOUT = {1: _NODE, 2: {1: {3: _NODE}}}
"""The positions of large arrays in a GraphDef, for `frontends/protobuf/large_arrays.py`."""
SAVED_LAYOUT = {2: {2: GRAPH_LAYOUT}}
GraphDef = _TYPES["Graph"]
SavedModelDef = _TYPES["SavedModel"]
BundleHeader, BundleEntry = _TYPES["BundleHeader"], _TYPES["BundleEntry"]
SignatureDef = _TYPES["Signature"]
TrackableObjects = _TYPES["TrackableObjects"]


def dtype_name(code: int) -> str:
    """The dtype for TensorFlow's number. Numbers of reference dtypes are larger by 100."""
    code = code - 100 if code > 100 else code
    return DTYPES.get(code) or COMPLEX.get(code) or OTHERS.get(code, f"type {code}")
