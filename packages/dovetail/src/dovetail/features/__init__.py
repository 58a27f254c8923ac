"""One file per page of the specification that both eras have."""
