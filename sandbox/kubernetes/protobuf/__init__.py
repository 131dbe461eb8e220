"""Reads the protobuf form of Kubernetes objects, in which kubectl sends what it creates."""

from sandbox.kubernetes.protobuf.decoder import BadMessage, decode_object

__all__ = ["BadMessage", "decode_object"]
