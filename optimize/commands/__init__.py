"""One file per command: parse, call, print, exit. The only room that prints."""
