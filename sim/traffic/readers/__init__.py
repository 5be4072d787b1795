"""Readers of request logs, one per format; `read_log` finds the right one."""

from sim.traffic.readers.read import read_log
from sim.traffic.readers.records import ReadLog

__all__ = ["ReadLog", "read_log"]
