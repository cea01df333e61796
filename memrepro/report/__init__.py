"""Reports: tables and figures, one module a paper."""
