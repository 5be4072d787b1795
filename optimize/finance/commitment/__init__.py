"""What to sign today: first stages held fixed, everything else planned again in every future."""
