"""What a data set is made of: its files, and from them texts, questions and extractions."""
