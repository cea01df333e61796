"""RF-Mem: familiarity, recollection and the gate between them."""

KEY_SCHEME_MARK = "dated-json"
