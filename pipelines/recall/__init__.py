"""From a question to an answer with sources, with a language model or without."""
