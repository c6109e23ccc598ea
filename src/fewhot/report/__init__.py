"""One page that says what was fitted, how well, and what to worry about."""

from fewhot.report.page import build_report, write_report

__all__ = ["build_report", "write_report"]
