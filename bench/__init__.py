"""What things cost, beside the floor and beside what else one would use: ``./dev bench``."""
