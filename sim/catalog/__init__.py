"""Facts with source and date: GPUs, models, weight formats, offers, relays, exchange rates. No behaviour."""
