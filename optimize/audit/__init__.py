"""Saved plans compared with each other, with an invoice, and with themselves made again."""
