"""The entry of `lbr`: runs the command line and turns whatever ends it into an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from starter.failures import exit_code
from starter.invocation import Invocation, format_in
from starter.tree import cli


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors are reported on standard error."""
    invocation = Invocation(format=format_in(arguments))
    try:
        answer = cli.main(list(arguments), prog_name="lbr", standalone_mode=False, obj=invocation)
    except SystemExit as error:  # click's shell completion ends this way
        return int(error.code or 0)
    except BaseException as error:
        return exit_code(error, invocation)
    return answer if isinstance(answer, int) else 0


def entry() -> None:
    """Run `lbr` and leave at once.

    The Temporal SDK's threads abort a short-lived process at interpreter exit in about one run of five, with
    all output complete and only the exit code wrong; leaving without that exit keeps the code right.
    """
    try:
        code = main(sys.argv[1:])
    except BaseException:  # a fault of ours: whatever it is, show where it came from and leave by the same door
        traceback.print_exc()
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        pass  # the reader (`head`, say) has what it wanted
    os._exit(code)
