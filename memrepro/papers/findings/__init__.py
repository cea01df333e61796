"""What the documents' ideas do on the same data: across all of them, not one document's."""
