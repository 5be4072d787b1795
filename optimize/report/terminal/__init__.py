"""What every command prints on the terminal."""
