"""What a profile takes before it runs: stages, texts, hours, bytes, calls. It runs none of them."""
