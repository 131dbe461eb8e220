"""The registry of search attributes: everything that lists and searches may ask for. Values are never encrypted."""

from __future__ import annotations

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

ORGANIZATION = SearchAttributeKey.for_keyword("LbrOrganization")
CLUSTER = SearchAttributeKey.for_keyword("LbrCluster")
POOL = SearchAttributeKey.for_keyword("LbrPool")
PHASE = SearchAttributeKey.for_keyword("LbrPhase")
CONDITIONS = SearchAttributeKey.for_keyword_list("LbrConditions")

ALL = (ORGANIZATION, CLUSTER, POOL, PHASE, CONDITIONS)


def attributes(organization: str, cluster: str = "", pool: str = "") -> TypedSearchAttributes:
    """The attributes that say whose workflow this is."""
    named = ((ORGANIZATION, organization), (CLUSTER, cluster), (POOL, pool))
    return TypedSearchAttributes([SearchAttributePair(key, value) for key, value in named if value])
