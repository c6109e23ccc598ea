"""How commands end: one line on stderr and a code, or the traceback when it is asked for.

0 done, 1 something failed, 2 the input was not accepted, 130 interrupted.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

from fewhot.core.errors import (
    DataError,
    DownloadError,
    FewhotError,
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    NotSavableError,
    RunFolderError,
    UnknownNameError,
    UnpreparedTableError,
)

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
DEBUG = "--debug"

_FLAGS = {
    **{name: f"--{name}" for name in ("label", "split", "device", "density", "l0", "alpha", "likelihood", "recipe")},
    **{name: f"--{name}" for name in ("text", "texts", "tokeniser", "columns", "drop", "prepare")},
    **{name: f"--{name}" for name in ("user", "item", "weight")},
    "image_shape": "--image-shape",
    "n_words": "--n-words",
    "max_length": "--max-length",
    "observation": "--observation",
    "data_dir": "--data-dir",
    "n_components": "--n-components",
    "max_steps": "--max-steps",
    "max_epochs": "--max-epochs",
    "batch_size": "--batch-size",
    "learning_rate": "--learning-rate",
    "random_state": "--seed",
    "hidden_layer_sizes": "--hidden",
}
"""Arguments that have a flag of their own; the others are given with --set."""
_CHOICES = re.compile(r"\b(latent|inference|features|kl_annealing|prior|form|estimator|encoder)='([\w-]+)'")
"""Arguments of --set that sentences spell out with one of their values."""
_ARGUMENT = re.compile(rf"\b({'|'.join(_FLAGS)})=('[^']*'|[\w.]*\w|)")

_REFUSALS = (
    InvalidInputError,
    InvalidTypeError,
    InvalidParameterError,
    UnknownNameError,
    NotSavableError,
    RunFolderError,
    DataError,
)


class OneLineErrors(TyperGroup):
    """A group of commands whose errors are one line each; ``--debug`` is taken at any place."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and leave the process with its code."""
        given = list(sys.argv[1:] if args is None else args)
        debug = DEBUG in given
        words = [word for word in given if word != DEBUG]
        try:
            code = super().main(words, prog_name, complete_var, False, windows_expand_args, **extra)
        except Exception as error:
            if debug:
                raise
            sentence, code = verdict_on(error)
            if isinstance(error, UnpreparedTableError):
                sentence = f"{error.listing}\n{in_flags(error.remedy)}{_prepared_command(words)}"
            sys.stderr.write(f"fewhot: {sentence}\n")
        sys.exit(code if isinstance(code, int) else DONE)

    def make_context(self, *given: Any, **extra: Any) -> Any:
        """Read the command line."""
        with _interrupt_said("Interrupted before it began; nothing was written."):
            return super().make_context(*given, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        with _interrupt_said("Interrupted."):
            return super().invoke(ctx)


@contextmanager
def _interrupt_said(sentence: str) -> Generator[None, None, None]:
    """Say that Ctrl-C was heard, for typer turns it into the code 130 without a word."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"fewhot: {sentence}\n")
        raise


def _prepared_command(words: Sequence[str]) -> str:
    """Return the line that fits the same table with its columns prepared, for a command that fits."""
    return f"\n  {shlex.join(['fewhot', *words, '--prepare'])}" if words[:1] == ["fit"] else ""


def verdict_on(error: Exception) -> tuple[str, int]:
    """Return the one line that says what went wrong, and the exit code.

    >>> verdict_on(InvalidInputError("The file is empty; give one with rows."))
    ('The file is empty; give one with rows.', 2)
    >>> verdict_on(ZeroDivisionError("division by zero"))[1]
    1
    """
    if isinstance(error, FewhotError):
        refused = isinstance(error, _REFUSALS) and not isinstance(error, DownloadError)
        return in_flags(_one_line(str(error))), BAD_INPUT if refused else FAILED
    if hasattr(error, "format_message"):  # the parser's own complaints, whichever click it is built on
        return _usage(error), getattr(error, "exit_code", BAD_INPUT)
    if type(error).__name__ == "Abort":
        return "Interrupted.", INTERRUPTED
    if isinstance(error, MemoryError):
        return "The machine has too little memory for this; give fewer rows or a smaller model.", FAILED
    if isinstance(error, OSError):
        return _one_line(f"{error.strerror or error}: {error.filename or 'a file or a connection'}."), FAILED
    what = _one_line(f"{type(error).__name__}: {error}")
    return f"An unexpected error ({what}); {DEBUG} shows where it comes from.", FAILED


def in_flags(sentence: str) -> str:
    """Return a sentence of the library with arguments spelt as on the command line.

    >>> in_flags("This machine has no GPU; use device='cpu', or name the column by label=.")
    'This machine has no GPU; use --device cpu, or name the column by --label.'
    >>> in_flags("data_dir is 'x', which is no folder.")
    "--data-dir is 'x', which is no folder."
    >>> in_flags("Those codes are dense; give latent='spike-slab'.")
    'Those codes are dense; give --set latent=spike-slab.'
    """
    told = _ARGUMENT.sub(lambda found: f"{_FLAGS[found[1]]} {found[2].strip(chr(39))}".rstrip(), sentence)
    for name in ("texts", "prepare"):
        told = told.replace(f"--{name} True", f"--{name}")  # a flag without a value
    told = _CHOICES.sub(r"--set \1=\2", told).replace("against_collapse=.", '--set "against_collapse={...}".')
    told, known, names = told.partition(" Known: ")  # a list of settings, as a file spells them
    for name in ("random_state", "data_dir", "image_shape"):
        told = told.replace(name, _FLAGS[name])
    return told + known + names


def _usage(error: Any) -> str:
    """Return the parser's complaint with the way to the help."""
    path = error.ctx.command_path if getattr(error, "ctx", None) is not None else "fewhot"
    return f"{_one_line(error.format_message()).rstrip('.')}; see {path} --help."


def _one_line(text: str) -> str:
    return " ".join(text.split())
