"""Broken, endless and hostile inputs: each ends in one clear message, quickly and in little memory."""
