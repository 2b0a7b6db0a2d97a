"""The Cognitive Nexus: what is remembered, who said it, since when, and what follows from it.

`changes` says what a writer may ask for, `commit` makes it true in one transaction and leaves a
record (`transactions`); `schema` knows the words, `installation` and `promotion` change which there
are; `belief` decides what is believed, `slots` and `claims` read. Elements are named by ids such as
`C-7` (concept), `P-3` (proposition), `A-9` (assertion), `E-2` (evidence), `X-1` (activity).
"""
