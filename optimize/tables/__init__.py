"""Tables that every report reads: columns declared once, plan.json, bills, phrases."""
