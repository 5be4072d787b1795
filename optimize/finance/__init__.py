"""What the plan costs over time and against its rivals: months ahead, break-even, own or rent, commitments."""
