"""Formation: from captured messages to memory, in one change set."""
