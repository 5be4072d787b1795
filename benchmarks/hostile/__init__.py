"""Broken and hostile inputs by the thousand: files, endpoints, kills and environments; what each of them must not do is counted."""
