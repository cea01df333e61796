"""The report as a static site: written from committed results, read without a network."""
