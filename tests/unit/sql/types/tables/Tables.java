// Makes the tables beside it, once: run `java -Dfile.encoding=UTF-8 Tables.java` in this folder (Java 17).
// Each line is a JSON array: what goes in, then what Java answers, or null where it throws.
import java.io.*;
import java.math.*;
import java.nio.charset.StandardCharsets;
import java.time.*;
import java.time.format.*;
import java.util.*;
import java.util.regex.*;

public class Tables {
  static final Random RANDOM = new Random(42);

  public static void main(String[] args) throws Exception {
    Locale.setDefault(Locale.ENGLISH);
    write("formatted.jsonl", formatted());
    write("parsed.jsonl", parsed());
    write("zones.jsonl", zones());
    write("decimals.jsonl", decimals());
    write("regex.jsonl", regex());
    write("maps.jsonl", maps());
  }

  static List<Object[]> formatted() {
    String[] patterns = {"yyyy-MM-dd'T'HH:mm:ss.SSS", "EEE, d MMM yyyy h:mm a", "EEEE MMMM dd uuuu", "yy/M/d k:m:s", "D DDD e ee c ccc",
        "w ww W YYYY YY", "Q QQ QQQ QQQQ q", "G GGGG", "n N A nnnnnnnnnnn", "X XX XXX XXXX XXXXX", "x xx xxx xxxx", "Z ZZZZ ZZZZZ O OOOO", "VV",
        "S SS SSSSSS SSSSSSSSS", "K KK hh", "''yyyy''", "'o''clock' HH", "yyyyy y yyy", "[yyyy][HH]", "LLL LLLL", "g F"};
    String[] zones = {"UTC", "Z", "+05:30", "America/Los_Angeles", "Europe/Berlin", "Asia/Kathmandu"};
    List<Object[]> rows = new ArrayList<>();
    for (String pattern : patterns) {
      for (int i = 0; i < 12; i++) {
        long ms = i < 4 ? new long[] {0, -1, 951782400000L, 253402300799999L}[i] : (long) (RANDOM.nextGaussian() * 2e12);
        String zone = zones[RANDOM.nextInt(zones.length)];
        rows.add(new Object[] {pattern, ms, zone, answer(() -> Instant.ofEpochMilli(ms).atZone(ZoneId.of(zone)).format(DateTimeFormatter.ofPattern(pattern)))});
      }
    }
    return rows;
  }

  static List<Object[]> parsed() {
    String[][] cases = {
        {"yyyy-MM-dd HH:mm:ss", "2021-02-30 10:11:12", "2021-02-32 10:11:12", "2021-13-01 10:11:12", "2021-1-01 10:11:12", "2021-01-01 24:00:00", "2021-01-01 24:00:01", "2021-01-01 25:00:00", "2021-01-01 10:11:12 ", "12021-01-01 10:11:12", "+12021-01-01 10:11:12", "-2021-01-01 10:11:12"},
        {"yyyyMMddHHmmssSSS", "20210203040506789", "2021020304050678", "+120210203040506789"},
        {"yyyyMMdd", "20210203", "2021023", "120210203"},
        {"d/M/yyyy", "1/2/2021", "01/02/2021", "31/4/2021", "0/1/2021"},
        {"yy-MM-dd", "21-02-03", "99-02-03", "021-02-03"},
        {"u-M-d", "-5-1-1", "0-1-1", "2021-1-1", "+2021-1-1"},
        {"hh:mm a yyyy-MM-dd", "12:30 AM 2021-01-01", "12:30 pm 2021-01-01", "13:00 PM 2021-01-01", "00:30 AM 2021-01-01"},
        {"HH:mm a yyyy-MM-dd", "15:00 AM 2021-01-01", "15:00 PM 2021-01-01"},
        {"kk:mm yyyy-MM-dd", "24:10 2021-01-01", "00:10 2021-01-01", "01:10 2021-01-01"},
        {"EEE, d MMM yyyy HH:mm:ss Z", "Fri, 5 Mar 2021 10:00:00 +0100", "FRI, 5 mar 2021 10:00:00 +0100", "Mon, 5 Mar 2021 10:00:00 +0100"},
        {"yyyy-MM-dd'T'HH:mm:ss.SX", "2021-01-01T00:00:00.2+0000", "2021-01-01T00:00:00.2Z", "2021-01-01T00:00:00.2+01", "2021-01-01T00:00:00.2+0130", "2021-01-01T00:00:00.2+01:30"},
        {"yyyy-MM-dd HH:mm XXX", "2021-01-01 00:00 +01:30", "2021-01-01 00:00 Z", "2021-01-01 00:00 +0130"},
        {"yyyy-MM-dd HH:mm xx", "2021-01-01 00:00 +0130", "2021-01-01 00:00 Z", "2021-01-01 00:00 +0000"},
        {"yyyy-MM-dd HH:mm VV", "2021-07-01 00:00 America/New_York", "2021-07-01 00:00 +02:00", "2021-07-01 00:00 UTC", "2021-07-01 00:00 Nowhere/City"},
        {"yyyy-MM-dd HH:mm O", "2021-07-01 00:00 GMT+8", "2021-07-01 00:00 GMT+8:30", "2021-07-01 00:00 GMT"},
        {"yyyy-DDD", "2021-001", "2020-366", "2021-366"},
        {"yyyy-MM-dd[ HH:mm]", "2021-01-01", "2021-01-01 10:11", "2021-01-01 10"},
        {"yyyy-MM-dd A", "2021-01-01 1234567"},
        {"yyyy-MM-dd N", "2021-01-01 1234567890"},
        {"yyyy-MM-dd HH:mm:ss.n", "2021-01-01 01:02:03.5000000"},
        {"dd MMM uuuu", "01 Jan 2021", "01 january 2021", "01 Foo 2021"},
        {"yyyy-MM-dd HH:mm:ss.SSSSSS", "2021-01-01 00:00:00.123456", "2021-01-01 00:00:00.123"},
        {"yyyy'T'MM''dd", "2021T02'03", "2021t02'03"},
    };
    List<Object[]> rows = new ArrayList<>();
    for (String[] texts : cases) {
      for (String text : Arrays.asList(texts).subList(1, texts.length)) {
        rows.add(new Object[] {texts[0], text, answer(() -> {
          DateTimeFormatter f = new DateTimeFormatterBuilder().parseCaseInsensitive().appendPattern(texts[0]).toFormatter(Locale.ENGLISH);
          var found = f.parse(text);
          ZoneId zone = found.query(java.time.temporal.TemporalQueries.zone());
          LocalDate date = found.query(java.time.temporal.TemporalQueries.localDate());
          LocalTime time = found.query(java.time.temporal.TemporalQueries.localTime());
          if (date == null) throw new DateTimeException("no date");
          return date.atTime(time == null ? LocalTime.MIDNIGHT : time).atZone(zone == null ? ZoneOffset.UTC : zone).toInstant().toEpochMilli();
        })});
      }
    }
    return rows;
  }

  static List<Object[]> zones() {
    String[] names = {"Z", "UTC", "UTC+2", "GMT-03:30", "UT+1", "+2", "+02", "+0200", "+02:00", "+02:00:01", "-18", "+19", "+2:00", "+020", "PST", "EST", "Europe/London",
        "Asia/Kolkata", "America/Sao_Paulo", "Australia/Lord_Howe", "europe/london", "Nowhere", ""};
    List<Object[]> rows = new ArrayList<>();
    for (String name : names) {
      for (long s : new long[] {0, 1612137600L, 1625097600L, 4102444800L}) {
        rows.add(new Object[] {name, s, answer(() -> ZoneId.of(name).getRules().getOffset(Instant.ofEpochSecond(s)).getTotalSeconds())});
      }
    }
    for (String local : new String[] {"2021-03-28T02:30", "2021-10-31T02:30", "2021-10-31T01:59", "2021-03-28T03:00", "1915-01-01T00:00"}) {
      long s = LocalDateTime.parse(local).toEpochSecond(ZoneOffset.UTC);
      rows.add(new Object[] {"local Europe/Berlin", s, LocalDateTime.parse(local).atZone(ZoneId.of("Europe/Berlin")).toEpochSecond()});
    }
    return rows;
  }

  static List<Object[]> decimals() {
    List<Object[]> rows = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      BigDecimal d = new BigDecimal(new BigInteger(RANDOM.nextInt(100), RANDOM), RANDOM.nextInt(40) - 10);
      if (RANDOM.nextBoolean()) d = d.negate();
      rows.add(new Object[] {d.unscaledValue().toString(), d.scale(), d.toString(), d.toPlainString(), d.hashCode()});
    }
    return rows;
  }

  static List<Object[]> regex() {
    String[][] cases = {
        {"a.c", "a\nc abc a\rc", "x"}, {"(?s)a.c", "a\nc abc", "x"}, {"[a-z&&[^aeiou]]+", "hello world", "<$0>"}, {"\\p{Alpha}+", "ab1ÄÖ cd", "_"}, {"\\p{Lu}", "aBÄc", "_"},
        {"\\p{L}+", "añb1c", "_"}, {"\\P{Digit}", "a1b2", ""}, {"\\h+", "a \t\u00a0b", "_"}, {"\\R", "a\r\nb\nc\u2028d", "|"}, {"\\Qa.b\\E+", "a.bb axb", "_"},
        {"(?<first>\\w+) (?<second>\\w+)", "hello world", "${second} ${first}"}, {"(\\w)(\\d)?", "a1b", "[$2$1]"}, {"a++a", "aaa", "x"}, {"(?>a+)b", "aaab", "x"}, {"x*", "axb", "-"},
        {"\\d{2,}", "1 22 333", "#"}, {"^\\s+|\\s+$", "  a b \n", ""}, {"(?i)ABC", "abcABCaBc", "x"}, {"(?i)ä", "Ää", "x"}, {"[\\]\\[]", "a[b]c", "_"}, {"[^\\d\\s]+", "a1 b2", "_"},
        {"\\bfoo\\b", "foo food foo", "bar"}, {"a|b|", "abc", "_"}, {"$", "a\n", "E"}, {"\\z", "a\n", "E"}, {"\\Z", "a\n", "E"}, {"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)", "abcdefghij", "$10$11"},
        {"a", "aaa", "\\$1"}, {"a", "aaa", "$1"}, {"(", "a", "x"}, {"[a", "a", "x"}, {"a)", "a", "x"}, {"*a", "a", "x"}, {"\\x41\\u0042\\0103", "ABC", "x"}, {"[\\w&&[^\\d]]", "a1_", "x"},
        {"(?:ab)+?", "ababab", "x"}, {"(?m)^b$", "a\nb\nc", "x"}, {"[a-c[x-z]]+", "abxyzm", "_"}, {"\\p{Punct}", "a!b.c", ""}, {"\\p{IsAlphabetic}+", "añ1", "_"}, {"(?x) a b # c", "ab", "x"},
        {"\\w+", "naïve", "_"}, {"(?<=a)b", "abcb", "x"}, {"(?<!a)b", "abcb", "x"}, {"a(?=b)", "abac", "x"}, {"a(?!b)", "abac", "x"}, {"(a)\\1", "aab", "x"}, {"(?<n>a)\\k<n>", "aab", "x"},
        {"[-a]", "a-b", "x"}, {"[a-]", "a-b", "x"}, {"[&a]", "a&b", "x"}, {"{", "{", "x"}, {"\\{", "{", "x"}, {"}", "}", "x"}, {"]", "]", "x"}, {"\\e", "a", "x"}, {"\\y", "y", "x"}};
    List<Object[]> rows = new ArrayList<>();
    for (String[] c : cases) {
      rows.add(new Object[] {c[0], c[1], c[2], answer(() -> c[1].replaceAll(c[0], c[2])), answer(() -> {
        List<String> found = new ArrayList<>();
        Matcher m = Pattern.compile(c[0]).matcher(c[1]);
        while (m.find()) found.add(m.group());
        return found.toArray();
      })});
    }
    return rows;
  }

  static List<Object[]> maps() {
    List<Object[]> rows = new ArrayList<>();
    for (int size : new int[] {1, 2, 3, 4, 5, 8, 13, 40}) {
      for (int i = 0; i < 4; i++) {
        List<Object> keys = new ArrayList<>();
        while (keys.size() < size) {
          String key = Integer.toString(RANDOM.nextInt(100000), 36) + (i == 3 ? "é\ud83d\ude00" : "");
          if (!keys.contains(key)) keys.add(key);
        }
        Map<Object, Object> map = new HashMap<>(size);
        for (Object key : keys) map.put(key, 1);
        Map<Object, Object> plain = new HashMap<>();
        for (Object key : keys) plain.put(key, 1);
        rows.add(new Object[] {keys.toArray(), map.keySet().toArray(), plain.keySet().toArray()});
      }
    }
    return rows;
  }

  interface Question { Object ask() throws Exception; }

  static Object answer(Question question) {
    try {
      return question.ask();
    } catch (Exception e) {
      return null;
    }
  }

  static void write(String name, List<Object[]> rows) throws IOException {
    try (Writer out = new OutputStreamWriter(new FileOutputStream(name), StandardCharsets.US_ASCII)) {
      for (Object[] row : rows) out.write(json(row) + "\n");
    }
  }

  static String json(Object value) {
    if (value instanceof Object[]) {
      StringJoiner joined = new StringJoiner(", ", "[", "]");
      for (Object item : (Object[]) value) joined.add(json(item));
      return joined.toString();
    }
    if (!(value instanceof String)) return String.valueOf(value);
    StringBuilder text = new StringBuilder("\"");
    for (char c : ((String) value).toCharArray()) {
      if (c == '"' || c == '\\') text.append('\\').append(c);
      else if (c < 32 || c > 126) text.append(String.format("\\u%04x", (int) c));
      else text.append(c);
    }
    return text.append('"').toString();
  }
}
