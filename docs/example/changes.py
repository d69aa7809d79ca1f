"""The shop's changes in Spark, as they come: `python changes.py FOLDER`."""

import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("shop").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
orders = spark.readStream.format("cdc_tail").option("table", "shop.orders").load(f"{sys.argv[1]}/cdc_raw")
chosen = orders.select("_op", "number", "article", "pieces", "status", "_set", "_event_id")
query = (
    chosen.writeStream.format("console")
    .option("truncate", "false")
    .option("checkpointLocation", f"{sys.argv[1]}/checkpoint")
    .start()
)
query.awaitTermination()
