"""What pipelines need from outside (models, embedders, tokenizers), behind small protocols."""
