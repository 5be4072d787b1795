"""What the plan costs over time and beside its rivals: months ahead, break-even, own or rent, commitments."""
