"""maxsim."""
