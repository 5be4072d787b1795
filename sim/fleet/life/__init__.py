"""The life of hosts: boots, drains, failures, repairs, spot notices."""
