"""Decide under commitment: what is signed today is fixed, everything else follows the future that comes."""
