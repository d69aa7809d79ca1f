"""The typed form: one table's rows with columns of their own types (architecture section 4).

`plain` is one value after another and right by reading it; `fast` makes the same out of whole columns. What is in this
folder loads pyarrow, and `fast` loads compiled code: it is imported when a typed form was asked for.
"""
