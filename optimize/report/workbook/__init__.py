"""A plan as a workbook for finance: prices and figures that can be changed, live formulas from them to every total, native charts."""
