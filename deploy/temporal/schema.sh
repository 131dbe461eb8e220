#!/bin/sh
# Creates Temporal's two databases and brings their schemas up to date. Runs as often as it likes: what exists is
# left as it is. The server, user and password come from the SQL_* variables of temporal-sql-tool.
set -eu

SCHEMAS="${SCHEMAS:-/etc/temporal/schema/postgresql/v12}"

prepare() {
  database="$1"
  schema="$2"
  temporal-sql-tool --db "$database" create
  temporal-sql-tool --db "$database" setup-schema --version 0.0
  temporal-sql-tool --db "$database" update-schema --schema-dir "$SCHEMAS/$schema/versioned"
}

prepare temporal temporal
prepare temporal_visibility visibility
echo "both schemas are up to date"
