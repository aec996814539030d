"""Word count, live in the terminal: sentences flow in, the table of the most frequent words grows.

The program is `build()`, eight lines. The rest is the show: first a trickle that one can read along, then all the
driver can take.
"""

import random
import re
import time
from collections.abc import Iterator

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

SENTENCES = """
all streams lead to kafka
a table is a stream of changes and a stream is a table of events
the water of the river turns the wheel of the mill
the headrace leads the water to the wheel
no stream flows back to the spring but a topic can be read again
count the words while the water flows
the state of a stream is kept in a store and the store in a log
late is the drop that comes after the window has closed
""".strip().splitlines()

SECONDS, TRICKLE_SECONDS, FRAMES_PER_SECOND = 6.0, 3.0, 20


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("text-input")
        .flat_map_values(lambda line: re.findall(r"\w+", line.lower()))
        .group_by(lambda key, word: word)
        .count("word-counts")
        .to_stream()
        .to("word-count-output", value_serde=serdes.long())
    )
    return builder.build()


def sentences(seconds: float, trickle_seconds: float) -> Iterator[str]:
    """Sentences for some seconds; the pause after each shrinks until there is none."""
    choose, started = random.Random(1).choice, time.monotonic()
    while (elapsed := time.monotonic() - started) < seconds:
        yield choose(SENTENCES)
        time.sleep(max(0.0, 0.3 * (1 - elapsed / trickle_seconds)) if trickle_seconds else 0.0)


def picture(sentence: str, counts: dict[str, int], read: int, rate: float) -> Group:
    top = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:12]
    table = Table(title=f"{read:,} sentences, {sum(counts.values()):,} words, {rate:,.0f} sentences/s")
    table.add_column("word", style="bold cyan", min_width=8)
    table.add_column("count", justify="right", min_width=8)
    table.add_column("", style="cyan", min_width=40)
    for word, count in top:
        table.add_row(word, f"{count:,}", "█" * max(1, round(40 * count / top[0][1])))
    return Group(Text(f"> {sentence}", style="italic", no_wrap=True, overflow="ellipsis"), table)


def run(console: Console) -> None:
    seconds, trickle = (SECONDS, TRICKLE_SECONDS) if console.is_terminal else (1.0, 0.0)
    counts: dict[str, int] = {}
    rate, drawn_at, measured_at, measured = 0.0, 0.0, time.monotonic(), 0
    with (
        TopologyTestDriver(build(), {"application.id": "word-count"}) as driver,
        Live(console=console, auto_refresh=False, vertical_overflow="crop") as live,
    ):
        lines = driver.create_input_topic("text-input")
        output = driver.create_output_topic("word-count-output", value_serde=serdes.long())
        for read, sentence in enumerate(sentences(seconds, trickle), start=1):
            lines.pipe_input(sentence)
            counts.update(output.read_key_values_to_map())
            now = time.monotonic()
            if now - measured_at >= 0.5:
                rate, measured_at, measured = (read - measured) / (now - measured_at), now, read
            if console.is_terminal and now - drawn_at >= 1 / FRAMES_PER_SECOND:
                drawn_at = now
                live.update(picture(sentence, counts, read, rate), refresh=True)
        live.update(picture(sentence, counts, read, rate), refresh=True)


if __name__ == "__main__":
    terminal = Console()
    run(terminal)
    terminal.print(f"\n{build().describe()}", highlight=False, markup=False)
