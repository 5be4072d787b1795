"""From a plan to files that one can apply: engines, autoscaling by the clock, a gateway, alerts, a runbook."""
