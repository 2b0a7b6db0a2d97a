"""The command line, one file for each group of commands; `deploy/cli.py` lists them."""
