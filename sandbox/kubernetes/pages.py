"""The tokens by which a list goes on after a page."""

import base64
import binascii
import re

import msgspec

from sandbox.kubernetes.errors import ApiError, bad_request
from sandbox.kubernetes.gojson import syntax_error

_FORM = "meta.k8s.io/v1"


class _Token(msgspec.Struct):
    """What a token holds: its form, the version of the list, and the key of its last item."""

    v: str = ""
    rv: int = 0
    start: str = ""


def token(version: int, last: str) -> str:
    """The token of what follows an item in a list of that resourceVersion."""
    raw = msgspec.json.encode(_Token(_FORM, version, last))
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def read(text: str) -> tuple[int, str]:
    """The version and the last item's key. Raises ApiError 400."""
    bad = re.search("[^A-Za-z0-9_-]", text)
    if bad:
        raise _refused(f"illegal base64 data at input byte {bad.start()}")
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise _refused(f"illegal base64 data at input byte {len(text) - 1}") from error
    try:
        found = msgspec.json.decode(raw, type=_Token)
    except msgspec.DecodeError as error:
        raise _refused(syntax_error(raw.decode("latin-1"))) from error
    if found.v != _FORM:
        raise _refused(f"server does not recognize this encoded version {found.v}")
    if not found.rv:
        raise _refused(f"incorrect encoded start resourceVersion (version {_FORM})")
    if not found.start:
        raise _refused(f"encoded start key empty (version {_FORM})")
    return found.rv, found.start


def _refused(why: str) -> ApiError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")
