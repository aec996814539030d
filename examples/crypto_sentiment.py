"""The mood about currencies: tweets are filtered, split by language, translated, merged again and aggregated.

The split ends where the streams merge. Grouping by currency changes the key: the internal repartition topic cuts
the topology in two parts that scale by themselves.
"""

from typing import Any

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()
WORDS = {"love": 1, "moon": 1, "liebe": 1, "hate": -1, "crash": -1, "hasse": -1}
CURRENCIES = ("bitcoin", "ethereum")
Tweet = dict[str, Any]


def translate(tweet: Tweet) -> Tweet:
    """Stands for a call of a translation service."""
    return {**tweet, "lang": "en", "text": tweet["text"].replace("liebe", "love").replace("hasse", "hate")}


def sentiments(tweet: Tweet) -> list[dict[str, Any]]:
    words = tweet["text"].lower().split()
    score = sum(WORDS.get(word, 0) for word in words)
    return [{"currency": word, "score": score} for word in words if word in CURRENCIES]


def build() -> Topology:
    builder = StreamsBuilder()
    languages = (
        builder.stream("raw-tweets", value_serde=JSON)
        .filter_not(lambda key, tweet: tweet.get("retweet", False))
        .split(name="lang-")
        .branch(lambda key, tweet: tweet["lang"] == "en", name="english")
        .branch(lambda key, tweet: tweet["lang"] == "de", name="german", function=lambda s: s.map_values(translate))
        .no_default_branch()
    )
    (
        languages["lang-english"]
        .merge(languages["lang-german"])
        .flat_map_values(sentiments)
        .group_by(lambda key, sentiment: sentiment["currency"], value_serde=JSON, name="by-currency")
        .aggregate(lambda: 0, lambda currency, sentiment, sum: sum + sentiment["score"], "mood", value_serde=JSON)
        .to_stream()
        .to("crypto-sentiment")
    )
    return builder.build()


if __name__ == "__main__":
    topology = build()
    with TopologyTestDriver(topology) as driver:
        tweets = driver.create_input_topic("raw-tweets", value_serde=JSON)
        tweets.pipe_input({"lang": "en", "text": "I love bitcoin and ethereum"})
        tweets.pipe_input({"lang": "de", "text": "ich hasse bitcoin"})
        tweets.pipe_input({"lang": "en", "text": "RT I love bitcoin", "retweet": True})
        tweets.pipe_input({"lang": "fr", "text": "j'adore bitcoin"})
        tweets.pipe_input({"lang": "en", "text": "bitcoin to the moon"})
        for record in driver.create_output_topic("crypto-sentiment", value_serde=JSON):
            print(f"{record.key:9} {record.value:+}")
    print(topology.describe())
