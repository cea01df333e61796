"""Published answers and their judgements: of no document, but what answers are judged by."""
