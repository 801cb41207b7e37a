import pathlib

place = pathlib.Path(out) / "notes.txt"
place.write_text("one\ntwo\n")
spark.sparkContext.setJobDescription("csv at nightly.py:1")
try:
    spark.read.text(str(place)).show(1)
    spark.read.text(str(place)).where("length(trim(value)) > 0").count()
finally:
    spark.sparkContext.setJobDescription(None)
