"""Registers the search attributes, so that a fresh namespace works from the first start."""

from __future__ import annotations

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeIndexedValueType

from workflows.search_attributes import ALL

_TYPES = {
    SearchAttributeIndexedValueType.KEYWORD: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    SearchAttributeIndexedValueType.KEYWORD_LIST: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}


async def register_search_attributes(client: Client) -> list[str]:
    """Add what the namespace lacks, through the operator API. Returns the names that were added."""
    service, namespace = client.operator_service, client.namespace
    known = await service.list_search_attributes(ListSearchAttributesRequest(namespace=namespace))
    missing = {key.name: _TYPES[key.indexed_value_type] for key in ALL if key.name not in known.custom_attributes}
    if missing:
        await service.add_search_attributes(AddSearchAttributesRequest(namespace=namespace, search_attributes=missing))
    return sorted(missing)
