"""What only one era of the protocol has, and the choice between them."""
