// Applications on Kafka Streams itself, each the twin of one in tests/kafka/interop_programs.py: same names, same topics.
//
// java -cp 'DIR/*' Interop.java BOOTSTRAP STATE_DIR GUARANTEE CACHE_BYTES PROGRAM=APPLICATION_ID ...
//
// Says "running" when all of them run, and ends them clean when its input ends.

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.*;

public class Interop {
    static final Serde<String> TEXT = Serdes.String();
    static final Serde<Long> LONG = Serdes.Long();

    public static void main(String[] args) throws Exception {
        List<KafkaStreams> running = new ArrayList<>();
        CountDownLatch up = new CountDownLatch(args.length - 4);
        for (String one : Arrays.copyOfRange(args, 4, args.length)) {
            String[] parts = one.split("=");
            KafkaStreams streams = new KafkaStreams(topology(parts[0], parts[1]), settings(args, parts[1]));
            streams.setStateListener((now, before) -> {
                if (now == KafkaStreams.State.RUNNING) {
                    up.countDown();
                }
            });
            streams.setUncaughtExceptionHandler(error -> {
                error.printStackTrace();
                System.exit(3);
                return null;
            });
            streams.start();
            running.add(streams);
        }
        if (!up.await(150, TimeUnit.SECONDS)) {
            System.exit(5);
        }
        System.out.println("running");
        System.in.readAllBytes();
        var leave = CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP);
        for (KafkaStreams streams : running) {
            if (!streams.close(leave.withTimeout(Duration.ofSeconds(60)))) {
                System.exit(4);
            }
        }
        System.out.println("stopped");
    }

    static Properties settings(String[] args, String application) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, args[1]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, args[2]);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, args[3]);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        settings.put("session.timeout.ms", 6000);
        settings.put("heartbeat.interval.ms", 1000);
        settings.put("auto.offset.reset", "earliest");
        settings.put("metadata.max.age.ms", 1000);
        return settings;
    }

    /** Topics are named after the application, so that several tests do not meet. */
    static Topology topology(String program, String name) {
        StreamsBuilder builder = new StreamsBuilder();
        switch (program) {
            case "word-count" -> builder.<String, String>stream(name + "-in")
                .flatMapValues(line -> Arrays.asList(line.split(" ")))
                .groupBy((key, word) -> word)
                .count(Materialized.as("counts"))
                .toStream()
                .to(name + "-out", Produced.with(TEXT, LONG));
            case "windowed-count" -> windowed(builder, name)
                .toStream()
                .to(name + "-out", Produced.with(WindowedSerdes.timeWindowedSerdeFrom(String.class, 10_000), LONG));
            case "suppress" -> windowed(builder, name)
                .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))
                .toStream()
                .to(name + "-out", Produced.with(WindowedSerdes.timeWindowedSerdeFrom(String.class, 10_000), LONG));
            case "session-count" -> builder.<String, String>stream(name + "-in")
                .groupByKey(Grouped.with(TEXT, TEXT))
                .windowedBy(SessionWindows.ofInactivityGapAndGrace(Duration.ofSeconds(5), Duration.ofSeconds(60)))
                .count()
                .toStream()
                .to(name + "-out", Produced.with(WindowedSerdes.sessionWindowedSerdeFrom(String.class), LONG));
            case "table-join" -> builder.<String, String>table(name + "-left")
                .join(builder.<String, String>table(name + "-right"), (left, right) -> left + "+" + right,
                    Materialized.as("joined"))
                .toStream()
                .to(name + "-out");
            case "foreign-key-join" -> builder.<String, String>table(name + "-left")
                .leftJoin(builder.<String, String>table(name + "-right"), left -> left.split(":")[0],
                    (left, right) -> left + "+" + right)
                .toStream()
                .to(name + "-out");
            default -> throw new IllegalArgumentException(program);
        }
        return builder.build();
    }

    static KTable<Windowed<String>, Long> windowed(StreamsBuilder builder, String name) {
        return builder.<String, String>stream(name + "-in")
            .groupByKey(Grouped.with(TEXT, TEXT))
            .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofSeconds(10), Duration.ofSeconds(20)))
            .count();
    }
}
