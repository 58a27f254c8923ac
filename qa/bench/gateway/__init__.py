"""What a gateway costs: a call through a proxy, beside the same call without it."""
