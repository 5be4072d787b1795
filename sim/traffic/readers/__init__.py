"""Readers of request logs and usage exports, one per format; `read_any` finds the right one."""

from sim.traffic.readers.log_rows import ReadLog
from sim.traffic.readers.read import read_any, read_log, read_usage
from sim.traffic.readers.usage import Usage

__all__ = ["ReadLog", "Usage", "read_any", "read_log", "read_usage"]
