import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.TimeWindows;

/**
 * The programs of the benchmark on Kafka Streams: {@code java -cp 'JARS/*' Bench.java name=value ...}.
 *
 * <p>Says when it starts the application, and runs it until standard input ends. With {@code processed} given it ends
 * the application itself after so many records, because that is when their offsets are committed: under
 * at_least_once the next commit would be up to half a minute away.
 */
public class Bench {
    private static final Produced<String, Long> COUNTS = Produced.with(Serdes.String(), Serdes.Long());

    public static void main(String[] arguments) throws Exception {
        Map<String, String> given = new HashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("=", 2);
            given.put(parts[0], parts[1]);
        }
        StreamsBuilder builder = new StreamsBuilder();
        build(builder, given);
        KafkaStreams streams = new KafkaStreams(builder.build(), settings(given));
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
            return StreamThreadExceptionResponse.SHUTDOWN_APPLICATION;
        });
        System.out.println("STARTED " + System.currentTimeMillis());
        streams.start();
        if (given.containsKey("processed")) {
            long expected = Long.parseLong(given.get("processed"));
            while (processed(streams) < expected) {
                Thread.sleep(20);
            }
            streams.close(Duration.ofSeconds(60));
        }
        while (System.in.read() >= 0) {
            // Whoever started this closes it.
        }
        streams.close(Duration.ofSeconds(60));
    }

    private static void build(StreamsBuilder builder, Map<String, String> given) {
        String output = given.get("output");
        KStream<String, String> input = builder.stream(given.get("input"));
        switch (given.get("program")) {
            case "word-count" -> input
                .flatMapValues(line -> Arrays.asList(line.split(" ")))
                .groupBy((key, word) -> word)
                .count(Materialized.as("counts"))
                .toStream().to(output, COUNTS);
            case "count" -> input.groupByKey().count(Materialized.as("counts")).toStream().to(output, COUNTS);
            case "windowed" -> input.groupByKey()
                .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(1)))
                .count(Materialized.as("counts"))
                .toStream((window, count) -> window.key() + "@" + window.window().start())
                .to(output, COUNTS);
            case "session" -> input.groupByKey()
                .windowedBy(SessionWindows.ofInactivityGapWithNoGrace(Duration.ofSeconds(5)))
                .count(Materialized.as("counts"))
                .toStream((session, count) ->
                    session.key() + "@" + session.window().start() + "-" + session.window().end())
                .to(output, COUNTS);
            case "aggregate" -> input.groupByKey()
                .aggregate(() -> 0L, (key, value, sum) -> sum + Long.parseLong(value),
                    Materialized.<String, Long, org.apache.kafka.streams.state.KeyValueStore<
                        org.apache.kafka.common.utils.Bytes, byte[]>>as("sums").withValueSerde(Serdes.Long()))
                .toStream().to(output, COUNTS);
            case "join" -> {
                KTable<String, String> table = builder.table(given.get("table"),
                    Consumed.with(Serdes.String(), Serdes.String()), Materialized.as("table"));
                input.join(table, (value, row) -> value + "|" + row).to(output);
            }
            case "filter-map" -> input
                .filter((key, value) -> Long.parseLong(value) % 2 == 0)
                .map((key, value) -> KeyValue.pair(key, "value " + value))
                .to(output);
            case "pass" -> input.filter((key, value) -> true).to(output);
            default -> throw new IllegalArgumentException(given.get("program"));
        }
    }

    private static Properties settings(Map<String, String> given) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, given.get("application"));
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, given.get("servers"));
        settings.put(StreamsConfig.STATE_DIR_CONFIG, given.get("state"));
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, given.get("guarantee"));
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        return settings;
    }

    private static long processed(KafkaStreams streams) {
        double sum = 0;
        for (Map.Entry<org.apache.kafka.common.MetricName, ? extends Metric> each : streams.metrics().entrySet()) {
            if (each.getKey().name().equals("process-total")
                && each.getKey().group().equals("stream-thread-metrics")) {
                sum += (Double) each.getValue().metricValue();
            }
        }
        return Math.round(sum);
    }
}
