"""Adding vectors to documents that lack one."""
