"""The family of errors users meet: what was given, what is accepted, what to do."""


class FewhotError(Exception):
    """Base of every error raised on purpose by this library."""


class InvalidInputError(FewhotError, ValueError):
    """Data that cannot be used as it is."""


class InvalidTypeError(FewhotError, TypeError):
    """Data of a type that is not recognised."""


class InvalidParameterError(FewhotError, ValueError):
    """A constructor or function argument outside what is accepted."""


class UnknownNameError(FewhotError, ValueError):
    """A name that no registry knows."""


class DuplicateNameError(FewhotError, ValueError):
    """A name registered twice."""


class NotSavableError(FewhotError, TypeError):
    """A part that could not be rebuilt from a file, and is therefore not saved."""


class RunFolderError(FewhotError, OSError):
    """A run folder that is missing, incomplete, foreign, in use or written by a newer version."""


class DivergedError(FewhotError, FloatingPointError):
    """Training met a value that is not finite."""


class NotEnoughMemoryError(FewhotError, MemoryError):
    """Something that does not fit into memory."""


class DataError(FewhotError, ValueError):
    """A file or a dataset that cannot be found, read or written."""


class DownloadError(DataError, OSError):
    """A dataset that could not be fetched, or whose content is not the published one."""


class UnpreparedTableError(DataError):
    """A table with columns that are not plain numbers: a heading, a line a column, and what to do.

    Parameters
    ----------
    listing
        The heading and the lines.
    remedy
        The last line.
    """

    def __init__(self, listing: str, remedy: str) -> None:
        self.listing = listing
        self.remedy = remedy
        super().__init__(f"{listing}\n{remedy}")
