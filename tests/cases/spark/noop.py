spark.table("people").write.format("noop").mode("overwrite").save()
