"""Change rows as messages of Kafka, with the position behind them in the same transaction.

Whatever of Kafka's client is imported, is imported here.
"""
