"""What may be bought at which terms, and why the rest may not: candidates, pools, relay terms, engine settings."""
