"""One search engine for graph, wiki and files: analyser, exact BM25, vectors, fusion."""
