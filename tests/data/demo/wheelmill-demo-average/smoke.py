"""What only a GPU can show."""

from wheelmill_demo_average import average

assert average([1.0, 2.0, 3.0]) == 14 / 3
