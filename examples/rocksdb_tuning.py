"""RocksDB tuned for production: `rocksdb.config.setter` is a function that sees the options of each store.

The options are rocksdict's, named as RocksDB names them.
"""

from collections.abc import Mapping
from typing import Any

from rocksdict import BlockBasedOptions, Cache, DBCompressionType, Options

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

KIB, MIB = 1024, 1024 * 1024
BLOCK_CACHE = Cache(512 * MIB)
"""One cache for all stores of the process: an upper bound on the memory for reads."""


def tune(store_name: str, options: Options, config: Mapping[str, Any]) -> None:
    table = BlockBasedOptions()
    table.set_block_cache(BLOCK_CACHE)
    table.set_block_size(16 * KIB)
    # Index and filter blocks count against the cache too, and the hottest of them stay in it.
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    options.set_block_based_table_factory(table)
    # Larger write buffers: fewer flushes, less compaction.
    options.set_write_buffer_size(64 * MIB)
    options.set_max_write_buffer_number(3)
    # The two upper levels are rewritten all the time: not worth compressing.
    options.set_compression_per_level([DBCompressionType.none()] * 2 + [DBCompressionType.snappy()] * 5)
    options.set_level_zero_file_num_compaction_trigger(10)
    options.set_level_zero_slowdown_writes_trigger(20)
    options.set_level_zero_stop_writes_trigger(40)
    options.set_max_bytes_for_level_base(256 * MIB)


CONFIG = {"application.id": "tuned", "rocksdb.config.setter": tune}


def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("events").group_by_key().count("counts").to_stream().to("totals", value_serde=serdes.long())
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build(), CONFIG) as driver:
        events = driver.create_input_topic("events")
        for user in ("anna", "ben", "anna"):
            events.pipe_input(user, "click")
        print(driver.create_output_topic("totals", value_serde=serdes.long()).read_key_values_to_map())
