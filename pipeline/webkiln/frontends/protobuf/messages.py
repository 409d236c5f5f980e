"""Protobuf message classes from short descriptions, for formats whose definitions no package
provides.

A description lists the fields of a message: `number name type`, separated by `;`. A type is a
protobuf scalar (`int32`, `string`, ...), another message or enum of the table, or `map<string, T>`;
a trailing `*` makes it repeated, `**` repeated and packed; `= value` sets the default. An enum is a
list `NAME = number; ...`, with names in its own scope. Fields without description are skipped when
a file is read. https://protobuf.dev/reference/protobuf/proto2-spec/
"""

import re
from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = re.compile(r"(\d+) (\w+) (map<string, ?\w+>|\w+)(\*{0,2})( = \S+)?")
MEMBER = re.compile(r"(\w+) = (\d+)")
Field = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in Field.Type.items()
    if name not in ("TYPE_GROUP", "TYPE_MESSAGE", "TYPE_ENUM")
}


def message_types(
    package: str, enums: Mapping[str, str], messages: Mapping[str, str]
) -> dict[str, Any]:
    """The message classes by name, in a separate descriptor pool."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto", package=package, syntax="proto2"
    )
    for name, text in enums.items():
        enum = file.message_type.add(name=f"{name}Enum").enum_type.add(name=name)
        for member, number in MEMBER.findall(text):
            enum.value.add(name=member, number=int(number))
    for name, text in messages.items():
        _add_message(file.message_type.add(name=name), f".{package}", text, enums, messages)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in messages
    }


def _add_message(
    message: Any, scope: str, text: str, enums: Mapping[str, str], messages: Mapping[str, str]
) -> None:
    for item in filter(None, map(str.strip, text.split(";"))):
        match = FIELD.fullmatch(item)
        assert match is not None, f"{message.name}: {item}"
        number, name, kind, repeated, default = match.groups()
        field = message.field.add(
            name=name,
            number=int(number),
            label=Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL,
        )
        if kind.startswith("map<"):
            entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
            entry.options.map_entry = True
            _add_message(
                entry,
                scope,
                f"1 key string; 2 value {kind.partition(',')[2].strip(' >')}",
                enums,
                messages,
            )
            field.label, field.type, field.type_name = (
                Field.LABEL_REPEATED,
                Field.TYPE_MESSAGE,
                f"{scope}.{message.name}.{entry.name}",
            )
        elif kind in SCALARS:
            field.type = SCALARS[kind]
        else:
            field.type = Field.TYPE_ENUM if kind in enums else Field.TYPE_MESSAGE
            field.type_name = f"{scope}.{kind}Enum.{kind}" if kind in enums else f"{scope}.{kind}"
        if repeated == "**":
            field.options.packed = True
        if default:
            field.default_value = default.removeprefix(" = ")
