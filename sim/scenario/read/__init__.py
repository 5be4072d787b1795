"""From a YAML file to a checked scenario: every problem of a file in one message."""
