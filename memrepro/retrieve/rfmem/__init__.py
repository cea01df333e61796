"""RF-Mem: familiarity, recollection and the gate between them."""
