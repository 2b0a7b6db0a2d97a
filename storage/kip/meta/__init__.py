"""META: what a space can say of itself, its words, its past and its limits. Reads only."""
