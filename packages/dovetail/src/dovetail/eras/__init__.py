"""The parts of the protocol that differ between eras, and the selection of the era."""
