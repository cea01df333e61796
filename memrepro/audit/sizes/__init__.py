"""The numbers of questions behind a table that states none, inferred jointly; knows no file."""
