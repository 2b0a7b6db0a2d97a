"""KIP 2.0 commands as text, as a typed tree, and checked.

`storage.kip.language.command.read` takes a text through lexer, parser and static checks; what
comes out needs neither a schema nor a database, and what is wrong with it is a `KipError` with a
place.
"""
