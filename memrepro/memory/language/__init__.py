"""What messages say: facts taken from them, by rules or a model, and facts that disagree."""
