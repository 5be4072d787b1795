"""optimize/report/terminal."""
