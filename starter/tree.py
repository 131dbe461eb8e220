"""All commands of `lbr`, and the group that loads each one only when it is used.

`lbr --help` and the helps of groups print from these tables, so nothing heavy is imported for them.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import click

from starter.invocation import target_options


@dataclass(frozen=True)
class Entry:
    """Where a command lives (`module:attribute`) and its line in the help of its group."""

    where: str
    help: str


class LazyGroup(click.Group):
    """A group whose commands are named in a table and imported at first use."""

    def __init__(self, name: str, entries: dict[str, Entry | LazyGroup], help: str) -> None:
        super().__init__(name, help=help)
        self._entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the table's order."""
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported. Raises ClickException where an optional part is not installed."""
        entry = self._entries.get(cmd_name)
        if entry is None or isinstance(entry, LazyGroup):
            return entry
        module, _, attribute = entry.where.partition(":")
        try:
            command: click.Command = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            raise click.ClickException(
                f"`{ctx.command_path} {cmd_name}` needs the Python package {error.name}, which is not installed: "
                "pip install 'managed-node-pools[sandbox]'"
            ) from error
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, str(entry.help or "")) for name, entry in self._entries.items()])


def _entry(where: str, help: str) -> Entry:
    return Entry(f"starter.commands.{where}", help)


POOL = LazyGroup(
    "pool",
    {
        "create": _entry("pool_create:create", "Make a pool; the same again changes nothing."),
        "list": _entry("pool_read:list_pools", "List the pools of a cluster, or of all clusters."),
        "describe": _entry(
            "pool_describe:describe", "Show a pool in full: conditions, nodes, what happens next and why."
        ),
        "nodes": _entry("pool_read:nodes", "List a pool's machines, and why each is where it is."),
        "events": _entry("pool_events:events", "List what happened to a pool."),
        "explain": _entry("pool_explain:explain", "Say why a pod waits, and why a node stays or goes."),
        "update": _entry("pool_update:update", "Change bounds, scale-down, labels or taints; freeze or resume a pool."),
        "scale": _entry("pool_scale:scale", "Set the size once, inside the bounds."),
        "delete": _entry("pool_delete:delete", "Drain and remove a pool's machines, then the pool."),
    },
    help="Managed node pools of a cluster.",
)

CP = LazyGroup(
    "cp",
    {
        "register": _entry("cluster:register", "Register a Kubernetes cluster that pools may join."),
        "list": _entry("cluster:list_clusters", "List the registered clusters and their health."),
        "deregister": _entry("cluster:deregister", "Forget a cluster that has no pools."),
        "pool": POOL,
    },
    help="Clusters (control planes) and their node pools.",
)

CREDENTIAL = LazyGroup(
    "cloud-credential",
    {
        "create": _entry("credential:create", "Store a cloud API token, sealed and probed."),
        "list": _entry("credential:list_credentials", "List credentials: health and use, never the secret."),
        "rotate": _entry("credential_rotate:rotate", "Replace a token in place; running pools go on."),
        "delete": _entry("credential:delete", "Remove a credential that no pool uses."),
    },
    help="Cloud API tokens, held by the organization.",
)

ORG = LazyGroup(
    "org",
    {
        "create": _entry("org:create", "Create an organization."),
        "enable": _entry("org:enable", "Turn managed node pools on for an organization."),
        "disable": _entry("org:disable", "Turn managed node pools off; what runs is kept up."),
        "show": _entry("org:show", "Show an organization's flag and counts."),
    },
    help="Organizations and their feature flag.",
)

KEYS = LazyGroup(
    "keys",
    {"generate": _entry("keys:generate", "Make the platform's key pair.")},
    help="The platform's key, to which clients seal secrets.",
)

ROOT = LazyGroup(
    "lbr",
    {
        "org": ORG,
        "cloud-credential": CREDENTIAL,
        "cp": CP,
        "usage": _entry("usage:usage", "Show metered hours: pool management and managed nodes."),
        "doctor": _entry("doctor:doctor", "Check everything that commands depend on, with next steps."),
        "keys": KEYS,
        "worker": _entry("worker:worker", "Run a worker in the foreground."),
        "sandbox": Entry("sandbox.cli:sandbox", "Run the whole product on this machine, without an account."),
        "completion": _entry("completion:completion", "Print the completion script for a shell."),
    },
    help="""Managed Kubernetes node pools on Hetzner Cloud.

    Data is printed on standard output, messages on standard error. The organization and the Temporal server
    come from --org and --profile, LBR_ORG and LBR_PROFILE, or the configuration file that LBR_CONFIG names
    (default: ~/.config/lbr/config.toml, else a sandbox's).""",
)

cli = click.version_option(package_name="managed-node-pools", prog_name="lbr")(target_options(ROOT))
