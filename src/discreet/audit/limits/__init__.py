"""What no mechanism can beat, beside what ours come to."""
