"""What no mechanism can beat, beside what ours attains.

A lower bound here is a number with its constant, proven in the docstring of its function or taken from
a theorem that is named. ``optimum`` solves tiny cases exactly, so that a bound that is too high is
noticed.
"""
