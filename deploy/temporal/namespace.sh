#!/bin/sh
# Creates the namespace that pools live in, and waits until it is served. The server comes from TEMPORAL_ADDRESS.
set -eu

if temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  echo "namespace $TEMPORAL_NAMESPACE exists"
else
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION" \
    --description "Managed node pools: one workflow a pool"
fi

# The server answers "not found" for a namespace that is a few seconds old, and a worker would stop at that.
tries=60
until temporal operator search-attribute list --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; do
  tries=$((tries - 1))
  if [ "$tries" -eq 0 ]; then
    echo "namespace $TEMPORAL_NAMESPACE is still not served" >&2
    exit 1
  fi
  sleep 1
done
