"""What a scenario file may say, as pydantic models."""
