"""How Brainstem runs: commands, embedded services, the command line."""
