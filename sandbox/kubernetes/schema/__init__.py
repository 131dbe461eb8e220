"""The types of the Kubernetes API: reading their protobuf form, and holding JSON to them."""

from sandbox.kubernetes.schema.conform import Unfit, conform
from sandbox.kubernetes.schema.protobuf import BadMessage, decode_object
from sandbox.kubernetes.schema.types import is_known, type_of

__all__ = ["BadMessage", "Unfit", "conform", "decode_object", "is_known", "type_of"]
