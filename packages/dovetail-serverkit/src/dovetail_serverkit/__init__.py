"""Ready servers. Each is written with the public names of dovetail alone, as any user would."""
