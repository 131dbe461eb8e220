"""JSON as the API server words it: values inside messages, and what its decoder says of broken text."""

import json
from typing import Any

_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_END = "unexpected end of JSON input"
# What Python's decoder complains of, and where the server's says it met a character that it did not want.
_PLACES = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Illegal trailing comma before end of array": "looking for beginning of value",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after array element",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
}
_TYPES = {list: "array", dict: "object", str: "string", bool: "bool", int: "number", float: "number"}


def compact(value: Any) -> str:
    """A value without spaces, with the characters escaped that could be taken for HTML."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for character, escaped in _ESCAPED.items():
        text = text.replace(character, escaped)
    return text


def syntax_error(text: str) -> str:
    """What the server says of a text that is no JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return _worded(text, error)
    return f"invalid character {_quoted(text.strip()[:1])} looking for beginning of value"


def not_into(value: Any, type_: str) -> str:
    """What the server says of a value that does not fit the type that it decodes into."""
    return f"json: cannot unmarshal {type_name(value)} into Go value of type {type_}"


def type_name(value: Any) -> str:
    """The name that JSON has for a value's type."""
    return _TYPES.get(type(value), "null")


def _worded(text: str, error: json.JSONDecodeError) -> str:
    if error.msg.startswith("Unterminated string"):
        return _END
    place = error.pos
    if error.msg.startswith("Illegal trailing comma"):
        place += 1  # the complaint is of what follows the comma
    rest = text[place:].lstrip()
    if not rest:
        return _END
    where = _PLACES.get(error.msg, _PLACES["Expecting value"])
    if error.msg == "Expecting ',' delimiter" and _in_object(text[:place]):
        where = "after object key:value pair"
    return f"invalid character {_quoted(rest[0])} {where}"


def _in_object(text: str) -> bool:
    """Whether the innermost thing that is open at the end of a text is an object."""
    opened: list[str] = []
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "{[":
            opened.append(character)
        elif character in "}]" and opened:
            opened.pop()
    return opened[-1:] == ["{"]


def _quoted(character: str) -> str:
    if character in "'\\":
        return f"'\\{character}'"
    if character.isprintable():
        return f"'{character}'"
    return f"'\\x{ord(character):02x}'" if ord(character) < 0x80 else f"'\\u{ord(character):04x}'"
