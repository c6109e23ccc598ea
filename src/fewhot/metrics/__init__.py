"""Metrics: arrays in, numbers out."""

from fewhot.metrics.activity import Activity, activity

__all__ = ["Activity", "activity"]
