"""Files of papers to tables in the ledger's format; knows no rule. A module is a format."""
