"""The parts of report.html: style, tables, the decision on top."""
