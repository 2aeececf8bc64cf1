"""The command that prints what a shell needs to complete commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from polysema.errors import InputError

FILES = {
    "bash": "~/.local/share/bash-completion/completions/polysema",
    "zsh": "a folder of your $fpath, as _polysema",
    "fish": "~/.config/fish/completions/polysema.fish",
}
"""The shells, and where each looks for completions."""


@click.command()
@click.argument("shell", type=click.Choice(list(FILES)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell, so that TAB completes commands, options and files.

    \b
      polysema completion bash > ~/.local/share/bash-completion/completions/polysema
      polysema completion zsh > "${fpath[1]}/_polysema"
      polysema completion fish > ~/.config/fish/completions/polysema.fish

    It is used by the next shell that is opened.
    """
    found = get_completion_class(shell)
    if found is None:
        raise InputError(f"no completion for {shell}: choose {', '.join(FILES)}")
    root = context.find_root().command
    click.echo(found(root, {}, "polysema", "_POLYSEMA_COMPLETE").source())


COMMANDS = [completion]
