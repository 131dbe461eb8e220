"""`lbr completion`: the script that a shell completes `lbr` with."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_LBR_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash:  source <(lbr completion bash)
    zsh:   source <(lbr completion zsh)
    fish:  lbr completion fish | source
    """
    script = get_completion_class(shell)
    assert script is not None  # click knows all three
    click.echo(script(context.find_root().command, {}, "lbr", VARIABLE).source())
