"""The group of all commands: those of this package, and those that other packages add by entry points."""

from __future__ import annotations

from typing import Any

from fewhot.cli.exits import OneLineErrors
from fewhot.core.errors import InvalidParameterError
from fewhot.core.plugins import load_plugin, plugins

PLUGINS = "fewhot.commands"
"""The group of entry points: a name, and a `typer.Typer` of one command."""

ELSEWHERE = {"reproduce": "fewhot-papers"}
"""Commands that people know and the packages that have them."""


class Program(OneLineErrors):
    """Commands by name; others are imported for the help, and when one is asked for that is not ours."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        self._add_plugins()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name; None where nobody has one."""
        if cmd_name not in self.commands:
            self._add_plugins()
        if cmd_name in ELSEWHERE and cmd_name not in self.commands:
            package = ELSEWHERE[cmd_name]
            raise InvalidParameterError(
                f"fewhot {cmd_name} needs the package {package}, which is not installed; install it by: pip install "
                f"{package}."
            )
        return super().get_command(ctx, cmd_name)

    def _add_plugins(self) -> None:
        from typer.main import get_command

        for name, point in plugins(PLUGINS).items():
            if name not in self.commands:
                self.commands[name] = get_command(load_plugin(point))
