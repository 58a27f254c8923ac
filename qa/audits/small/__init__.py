"""One small server, written with each of the peers the way its documentation shows."""
