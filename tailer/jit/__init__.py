"""How a Python function becomes machine code, when, and which form of it works now. Knows no format."""
