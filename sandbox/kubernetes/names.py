"""Which texts may be names, label keys and label values, with the words for those that may not."""

import re
from collections.abc import Iterator

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"
_ALPHANUMERIC = "consist of alphanumeric characters, '-', '_' or '.'"
_BOTH_ENDS = "and must start and end with an alphanumeric character"
_LONGEST, _LONGEST_LABEL = 253, 63


def _unlike(words: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {shown}regex used for validation is '{pattern}')"


NOT_SUBDOMAIN = _unlike(
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_BOTH_ENDS}",
    _SUBDOMAIN,
    "example.com",
)
NOT_LABEL = _unlike(
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_BOTH_ENDS}",
    _LABEL,
    "my-name",
    "123-abc",
)
_NOT_QUALIFIED = _unlike(f"must {_ALPHANUMERIC}, {_BOTH_ENDS}", _QUALIFIED, "MyName", "my.name", "123-abc")
_NOT_VALUE = _unlike(
    f"a valid label must be an empty string or {_ALPHANUMERIC}, {_BOTH_ENDS}", _VALUE, "MyValue", "my_value", "12345"
)
_NOT_CONFIG_KEY = _unlike(f"a valid config key must {_ALPHANUMERIC}", _CONFIG_KEY, "key.name", "KEY_NAME", "key-name")
_NOT_PERCENT = _unlike(
    "a valid percent string must be a numeric string followed by an ending '%'", _PERCENT, "1%", "93%"
)


def subdomain_faults(name: str) -> Iterator[str]:
    """Why a name is no RFC 1123 subdomain, as most object names must be."""
    if len(name) > _LONGEST:
        yield f"must be no more than {_LONGEST} characters"
    if not re.fullmatch(_SUBDOMAIN, name):
        yield NOT_SUBDOMAIN


def label_name_faults(name: str) -> Iterator[str]:
    """Why a name is no RFC 1123 label, as those of containers and services must be."""
    if len(name) > _LONGEST_LABEL:
        yield f"must be no more than {_LONGEST_LABEL} characters"
    if not re.fullmatch(_LABEL, name):
        yield NOT_LABEL


def namespace_faults(name: str) -> Iterator[str]:
    """Why a name is none for a namespace."""
    if "." in name:
        yield "must not contain dots"
    else:
        yield from label_name_faults(name)


def path_faults(name: str) -> Iterator[str]:
    """Why a name cannot be part of a path; roles may have any other."""
    if name in (".", ".."):
        yield f"may not be '{name}'"
        return
    yield from (f"may not contain '{character}'" for character in "/%" if character in name)


def qualified_faults(key: str, what: str = "a qualified name") -> Iterator[str]:
    """Why a text is no qualified name: an optional DNS prefix, a slash, and a name."""
    prefix, slash, name = key.partition("/")
    if "/" in name:
        yield f"{what} {_NOT_QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return
    if not slash:
        name = prefix
    elif not prefix:
        yield "prefix part must be non-empty"
    else:
        yield from (f"prefix part {fault}" for fault in subdomain_faults(prefix))
    if not name:
        yield "name part must be non-empty"
    if len(name) > _LONGEST_LABEL:
        yield f"name part must be no more than {_LONGEST_LABEL} bytes"
    if not re.fullmatch(_QUALIFIED, name):
        yield f"name part {_NOT_QUALIFIED}"


def label_key_faults(key: str) -> Iterator[str]:
    """Why a text is no key of a label."""
    return qualified_faults(key, "a valid label key")


def label_value_faults(value: str) -> Iterator[str]:
    """Why a text is no value of a label or a taint."""
    if len(value) > _LONGEST_LABEL:
        yield f"must be no more than {_LONGEST_LABEL} bytes"
    if not re.fullmatch(_VALUE, value):
        yield _NOT_VALUE


def config_key_faults(key: str) -> Iterator[str]:
    """Why a text is no key of a secret's or a config map's data."""
    if len(key) > _LONGEST:
        yield f"must be no more than {_LONGEST} characters"
    if not re.fullmatch(_CONFIG_KEY, key):
        yield _NOT_CONFIG_KEY
    if key in (".", ".."):
        yield f"must not be '{key}'"
    elif key.startswith(".."):
        yield "must not start with '..'"


def percent_faults(text: str) -> Iterator[str]:
    """Why a text is no percentage of at most all."""
    if not re.fullmatch(_PERCENT, text):
        yield _NOT_PERCENT
    elif int(text[:-1]) > 100:
        yield "must not be greater than 100%"
