"""`make site`: the lessons, the glossary, what was measured and the API as pages to read."""
