"""A server on loopback, an empty cache, and no data of the machine's own."""

from tests.data.conftest import cache, server

__all__ = ["cache", "server"]
