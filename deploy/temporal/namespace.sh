#!/bin/sh
# Creates the namespace that pools live in. Address and name come from TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.
set -eu

if temporal operator namespace describe "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  echo "namespace $TEMPORAL_NAMESPACE exists"
else
  temporal operator namespace create --retention "$RETENTION" \
    --description "Managed node pools: one workflow a pool" "$TEMPORAL_NAMESPACE"
fi
