"""What OAuth clients and resource servers share: metadata, requests, proofs, challenges."""
