"""The page of the console in Chromium, beside the page of the Inspector."""
