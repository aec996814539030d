// What Kafka's own producer makes of keys: java -cp 'DIR/*' Partitions.java BOOTSTRAP TOPIC
//
// Sends keys of every kind that Kafka has a serializer for, by its default partitioner, and prints for each a line:
// kind, the key as text, its bytes in hexadecimal, and the partition it landed in.

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.UUID;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.*;

public class Partitions {
    static KafkaProducer<byte[], byte[]> producer;
    static String topic;

    public static void main(String[] args) throws Exception {
        topic = args[1];
        var settings = Map.<String, Object>of("bootstrap.servers", args[0], "linger.ms", 0);
        producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        for (int number = 0; number < 40; number++) {
            int spread = number * 2654435 * (number % 2 == 0 ? 1 : -1);
            send("string", new StringSerializer(), "key-" + number, "key-" + number);
            send("string", new StringSerializer(), "schlüssel-" + number + "-\uD83D\uDE00", "schlüssel-" + number + "-\uD83D\uDE00");
            send("integer", new IntegerSerializer(), spread, "" + spread);
            send("long", new LongSerializer(), spread * 4294967311L, "" + spread * 4294967311L);
            send("short", new ShortSerializer(), (short) spread, "" + (short) spread);
            send("float", new FloatSerializer(), spread / 7.0f, "" + (double) (spread / 7.0f));
            send("double", new DoubleSerializer(), spread / 7.0, "" + spread / 7.0);
            send("boolean", new BooleanSerializer(), number % 2 == 0, "" + (number % 2 == 0));
            UUID id = new UUID(spread * 31L, spread * 17L);
            send("uuid", new UUIDSerializer(), id, id.toString());
            byte[] bytes = ByteBuffer.allocate(number + 1).put(number, (byte) spread).array();
            send("bytes", new ByteArraySerializer(), bytes, hex(bytes));
        }
        producer.close();
    }

    static <T> void send(String kind, Serializer<T> serializer, T key, String text) throws Exception {
        byte[] bytes = serializer.serialize(topic, key);
        var sent = producer.send(new ProducerRecord<>(topic, bytes, bytes)).get();
        System.out.println(kind + "\t" + text + "\t" + hex(bytes) + "\t" + sent.partition());
    }

    static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte one : bytes) {
            text.append(String.format("%02x", one));
        }
        return text.toString();
    }
}
