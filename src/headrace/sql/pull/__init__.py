"""Questions that are answered once, from what a query keeps."""
