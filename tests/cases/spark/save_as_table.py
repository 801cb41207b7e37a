spark.table("people").select("id").write.mode("overwrite").saveAsTable("made_saved")
spark.table("people").select("id").write.mode("append").saveAsTable("made_saved")
spark.sql("drop table made_saved")
