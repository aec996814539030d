"""Interactive queries: the tables of a running application answer questions, without a database behind them.

By key, by range, and for windows by key and time; windows can be asked for as long as `retention` says. A question that
a store cannot answer is a failure, not an error.
"""

from datetime import timedelta

from headrace import StreamsBuilder, TimeWindows, Topology, TopologyTestDriver, query

MINUTE = 60_000


def build() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words").group_by(lambda key, word: word)
    words.count("word-counts")
    words.windowed_by(TimeWindows(timedelta(minutes=1))).count("words-per-minute", retention=timedelta(hours=1))
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        words = driver.create_input_topic("words", start=0, auto_advance=30_000)
        words.pipe_value_list(["kafka", "streams", "kafka", "table", "kafka"])

        counts, per_minute = driver.store("word-counts"), driver.store("words-per-minute")
        print("kafka:", query.execute(counts, query.KeyQuery("kafka")).result)
        with query.execute(counts, query.RangeQuery("l", "z")).result as entries:
            print("from l to z:", list(entries))
        with query.execute(per_minute, query.WindowKeyQuery("kafka", 0, 5 * MINUTE)).result as windows:
            print("kafka by minute:", [(start // MINUTE, found.value) for start, found in windows])
        wrong = query.execute(counts, query.WindowKeyQuery("kafka", 0, MINUTE))
        print("a wrong question:", wrong.failure_reason)
