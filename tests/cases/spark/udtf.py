@F.udtf(returnType="word string, size int")
class Words:
    def eval(self, text, more):
        for word in text.split():
            yield word, len(word) + more


spark.udtf.register("made_words", Words)
spark.sql("select p.id, w.word, w.size from people p, lateral made_words(p.name, p.age) w").write.parquet(f"{out}/out")
