"""The language of memory at the command line: running commands, and conformance fixtures."""
