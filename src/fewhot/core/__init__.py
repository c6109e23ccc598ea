"""Contracts shared by every part: errors, registries, records, schedules, seeds, files."""
