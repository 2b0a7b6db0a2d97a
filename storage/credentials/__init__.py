"""Who a caller is: signed tokens (CWT) of trusted issuers, and the tokens of one space."""
