"""What instructors use: building, grading, reports. It imports course; course never imports it."""
