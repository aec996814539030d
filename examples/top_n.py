"""The most traded shares of every industry: a table grouped anew, with an adder and a subtractor.

A row of a table replaces the one before it. So the aggregate must take the old value out (`subtractor`) before it puts
the new one in (`adder`); summing alone would count a company once for each of its updates.
"""

from typing import Any

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

JSON = serdes.json()
TOP = 3


def add_shares(volume: dict[str, Any], trade: dict[str, Any]) -> dict[str, Any]:
    return {**volume, "shares": volume["shares"] + trade["shares"]}


def add(industry: str, volume: dict[str, Any], volumes: dict[str, int]) -> dict[str, int]:
    return {**volumes, volume["symbol"]: volume["shares"]}


def subtract(industry: str, volume: dict[str, Any], volumes: dict[str, int]) -> dict[str, int]:
    return {symbol: shares for symbol, shares in volumes.items() if symbol != volume["symbol"]}


def report(volumes: dict[str, int]) -> str:
    ranking = sorted(volumes.items(), key=lambda entry: (-entry[1], entry[0]))
    return ", ".join(f"{symbol} {shares}" for symbol, shares in ranking[:TOP])


def build() -> Topology:
    builder = StreamsBuilder()
    volumes = (
        builder.stream("stock-transactions", value_serde=JSON)
        .group_by(lambda key, trade: trade["symbol"])
        .reduce(add_shares, "volume-per-company")
    )
    (
        volumes.group_by(lambda symbol, volume: (volume["industry"], volume), value_serde=JSON)
        .aggregate(dict, add, subtract, "volume-per-industry", value_serde=JSON)
        .map_values(report)
        .to_stream()
        .to("stock-volume-by-company")
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        trades = driver.create_input_topic("stock-transactions", value_serde=JSON)
        top = driver.create_output_topic("stock-volume-by-company")
        for symbol, shares in (("YERB", 100), ("NDLE", 50), ("ACME", 70), ("ZORG", 10), ("NDLE", 60)):
            trades.pipe_input({"symbol": symbol, "industry": "tech", "shares": shares})
            print(f"{symbol} +{shares:<4}", *top.read_key_value(), sep="  ")
