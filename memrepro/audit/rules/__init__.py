"""What printed numbers must satisfy: each rule a function from tables to findings."""
