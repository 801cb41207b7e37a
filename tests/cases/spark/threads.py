import threading


def work(number):
    session = spark.newSession()
    session.table("people" if number % 2 else "orders").createOrReplaceTempView("made_source")
    column = "age" if number % 2 else "amount"
    session.sql(f"select max({column}) as top from made_source").write.parquet(f"{out}/t{number}")


running = [threading.Thread(target=work, args=(number,)) for number in range(6)]
for thread in running:
    thread.start()
for thread in running:
    thread.join()
