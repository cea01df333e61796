"""Work spread over workers in order; knows where it runs, and not what is done."""
