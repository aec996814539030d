// Makes functions.jsonl beside it, once, with the libraries that come with PySpark (Jackson, Guava, commons-lang3, -codec, -text):
//   java -Dfile.encoding=UTF-8 -Duser.timezone=UTC -cp "$(python -c 'import pyspark; print(pyspark.__path__[0])')/jars/*" Functions.java
// Each line is a JSON array: the call of a function, its arguments, and what Java answers; {"fails": true} where it throws.
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.*;
import com.google.common.base.Splitter;
import com.google.common.net.UrlEscapers;
import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.apache.commons.codec.binary.Hex;
import org.apache.commons.codec.digest.DigestUtils;
import org.apache.commons.lang3.StringUtils;
import org.apache.commons.lang3.time.FastDateFormat;
import org.apache.commons.text.StringEscapeUtils;

public class Functions {
  static final Random RANDOM = new Random(11);
  static final ObjectMapper OUT = new ObjectMapper();
  static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
      .enable(JsonGenerator.Feature.WRITE_BIGDECIMAL_AS_PLAIN).setNodeFactory(JsonNodeFactory.withExactBigDecimals(true));
  static PrintStream out;

  interface Question { Object ask() throws Exception; }

  static void row(String call, Question question, Object... arguments) throws Exception {
    Object answer;
    try {
      answer = question.ask();
    } catch (Exception e) {
      answer = Map.of("fails", true);
    }
    out.println(OUT.writeValueAsString(Arrays.asList(call, arguments, answer)));
  }

  public static void main(String[] args) throws Exception {
    Locale.setDefault(Locale.ENGLISH);
    out = new PrintStream(new FileOutputStream("functions.jsonl"), false, "UTF-8");
    urls();
    texts();
    dates();
    json();
    numbers();
    out.close();
  }

  static String pick(String... choices) { return choices[RANDOM.nextInt(choices.length)]; }

  static void urls() throws Exception {
    List<String> urls = new ArrayList<>(List.of("", " ", "a", "/", "//", "///", "?", "#", ":", "a:", "a:b", "a:/", "http:", "http:/", "http://", "1a:b", "http://a?b", "http://a#b", "http://a/b?c#d?e", "http://é/ü?ö#ä",
        "http://a/%41%zz", "http://a/%e4", "http://[::1", "http://[::1]/", "http://[v1.a]/", "http://a:99999999999/", "http://a:-1/", "http://a b/", "http://a/b c", "file:///etc", "mailto:a@b", "urn:a:b", "http://1.2.3/", "http://1.2.3.4/", "http://256.1.1.1/",
        "http://a-.b/", "http://a.b.", "http://a..b", "http://-a/", "http://a_b.c:1/", "http://u:p@h:1/", "http://u@/", "http://h/\\", "http://h/[x]", "http://h/?[x]", "http://h/{x}", "http://h/a|b", "http://h/\u00a0", "http://h/\u0001", "a b:c", "http://h/;p=1", "http://%41/", "//h/p", "x?y=:z", "./a:b"));
    for (int i = 0; i < 60; i++) {
      urls.add(pick("http://", "https://", "//", "ftp://", "") + pick("", "user@", "u:p@", "u%20@") + pick("host", "a.b.com", "10.0.0.1", "x_y", "h-1") + pick("", ":80", ":", ":x") + pick("", "/", "/a/b", "/a%2Fb", "/ü", "/a b") + pick("", "?", "?a=1&b=2", "?a=%26&b", "?a==1") + pick("", "#", "#f", "#f%20g"));
    }
    for (String url : urls) {
      row("URL_EXTRACT_PROTOCOL(STRING)", () -> new URI(url).getScheme(), url);
      row("URL_EXTRACT_HOST(STRING)", () -> new URI(url).getHost(), url);
      row("URL_EXTRACT_PORT(STRING)", () -> { int port = new URI(url).getPort(); return port < 0 ? null : (Object) port; }, url);
      row("URL_EXTRACT_PATH(STRING)", () -> new URI(url).getPath(), url);
      row("URL_EXTRACT_QUERY(STRING)", () -> new URI(url).getQuery(), url);
      row("URL_EXTRACT_FRAGMENT(STRING)", () -> new URI(url).getFragment(), url);
    }
    for (String text : List.of("", "a b", "a+b", "%", "%4", "%41", "%C3%A4", "%c3", "%ff%41", "a%20%2B", "é", "%%", "+%2B+", "%C3a%A4")) {
      row("URL_DECODE_PARAM(STRING)", () -> URLDecoder.decode(text, "UTF-8"), text);
      row("URL_ENCODE_PARAM(STRING)", () -> UrlEscapers.urlFormParameterEscaper().escape(text), text);
    }
    row("URL_ENCODE_PARAM(STRING)", () -> UrlEscapers.urlFormParameterEscaper().escape("-_.*~!'()/?:@&=$,;# \ud83d\ude00"), "-_.*~!'()/?:@&=$,;# \ud83d\ude00");
  }

  static void texts() throws Exception {
    String[] texts = {"", " ", "abc", "ABC def", "  Two  words ", "ß ŉ ǆ", "İstanbul", "ΣΑΣ ΟΔΟΣ", "a\tb\nc", "\u00a0x\u00a0", "\ud83d\ude00b", "ǅ", "\u2003em", "x\u0000y\u001f ", "ŒUVRE", "ﬁsh"};
    for (String text : texts) {
      row("LCASE(STRING)", () -> text.toLowerCase(), text);
      row("UCASE(STRING)", () -> text.toUpperCase(), text);
      row("TRIM(STRING)", () -> text.trim(), text);
      row("LEN(STRING)", () -> text.length(), text);
      row("MD5(STRING)", () -> DigestUtils.md5Hex(text), text);
      row("SPLIT(STRING, STRING)", () -> Splitter.on(" ").splitToList(text), text, " ");
      if (text.codePointCount(0, text.length()) < text.length()) continue; // Java would cut pairs of surrogates in two
      row("REPLACE(STRING, STRING, STRING)", () -> text.replace("", "-"), text, "", "-");
      for (String pattern : List.of("\\s+", "b|", "x*", "(?=b)", "[aeiou]", ".", "")) {
        row("REGEXP_SPLIT_TO_ARRAY(STRING, STRING)", () -> {
          Pattern p = Pattern.compile(pattern);
          return p.matcher("").matches() ? Arrays.asList(p.split(text)) : Splitter.on(p).splitToList(text);
        }, text, pattern);
      }
    }
    for (String text : List.of("\\u0041", "\\u0041\\u0042", "\\uu0041", "\\u+0041", "\\u00", "\\u004g", "\\u0041\\n\\t\\\\\\\"\\'", "\\u0041\\q", "\\u0041\\101\\7\\400", "\\u0041\\", "\\ud83d\\ude00")) {
      row("CHR(STRING)", () -> text.length() < 6 ? null : StringEscapeUtils.unescapeJava(text), text);
    }
    for (String text : List.of("", "YQ", "YQ==", "Y Q = =", "YWI", "YWJj", "YWJjZ", "-_", "a", "YQ==YQ==", "é")) {
      row("ENCODE(STRING, STRING, STRING)", () -> new String(Hex.encodeHex(org.apache.commons.codec.binary.Base64.decodeBase64(text))), text, "base64", "hex");
      row("TO_BYTES(STRING, STRING)", () -> Map.of("bytes", HexFormat.of().formatHex(Base64.getDecoder().decode(text))), text, "base64");
    }
    for (int i = 0; i < 40; i++) {
      String text = pick("aXbXc", "abcabc", "aaaa", "", "xyz");
      String part = pick("X", "abc", "aa", "a", "z", "");
      int start = RANDOM.nextInt(13) - 6;
      int nth = RANDOM.nextInt(4);
      row("INSTR(STRING, STRING, INTEGER, INTEGER)", () -> instr(text, part, start, nth), text, part, start, nth);
    }
  }

  static int instr(String text, String part, int start, int nth) {
    if (Math.abs(start) > text.length()) return 0;
    boolean backwards = start < 0;
    String in = backwards ? StringUtils.reverse(text) : text;
    String what = backwards ? StringUtils.reverse(part) : part;
    int from = Math.abs(start);
    int found = StringUtils.ordinalIndexOf(StringUtils.substring(in, from - 1), what, nth);
    if (found < 0) return 0;
    return backwards ? in.length() - from - found - what.length() + 2 : found + from;
  }

  static void dates() throws Exception {
    String[][] cases = {
        {"yyyy-MM-dd", "2021-03-05", "2021-3-5", "2021-13-05", "2021-02-31", "21-03-05", "12021-03-05", " 2021-03-05", "2021- 03-05", "2021-03-05x", "2021/03/05", "-2021-03-05", "2021-00-00"},
        {"yy-M-d", "21-3-5", "2021-3-5", "70-1-1", "99-1-1", "5-1-1"}, {"yyyyMMdd", "20210305", "2021035", "202103", "20210335"}, {"dd MMM yyyy", "05 Mar 2021", "05 MARCH 2021", "05 mar 2021", "05 Foo 2021", "5 Mar 21"},
        {"MMMM d, yyyy", "March 5, 2021", "Mar 5, 2021"}, {"EEE, dd MMM yyyy", "Fri, 05 Mar 2021", "Mon, 05 Mar 2021", "Friday, 05 Mar 2021"}, {"yyyy-DDD", "2021-064", "2021-64", "2021-400"}, {"yyyy-MM-dd HH:mm", "2021-03-05 00:00", "2021-03-05 10:00", "2021-03-05 24:00"},
        {"yyyy-MM-dd'T'HH", "2021-03-05T00", "2021-03-05t00"}, {"yyyy.MM.dd G", "2021.03.05 AD", "2021.03.05 BC"}, {"yyyy-MM-dd Z", "2021-03-05 +0000", "2021-03-05 -0100"}, {"yyyy-MM-dd X", "2021-03-05 Z", "2021-03-05 +00", "2021-03-05 +01"}, {"yyyy", "2021", "x"}, {"MM-dd", "03-05"}, {"h a", "12 AM", "12 PM"}, {"'at' yyyy", "at 2021", "At 2021"}, {"yyyy''MM", "2021'03"}, {"b", "1"}, {"yyyy-MM-dd", ""}, {"k", "24", "1"}, {"K", "0"}, {"S", "0", "5"}, {"y", "21", "2021"}, {"M", "3"}, {"dMyyyy", "5 3 2021", "532021"}};
    for (String[] texts : cases) {
      for (String text : Arrays.asList(texts).subList(1, texts.length)) {
        row("PARSE_DATE(STRING, STRING)", () -> {
          long ms = FastDateFormat.getInstance(texts[0], TimeZone.getTimeZone("GMT")).parse(text).getTime();
          if (ms % 86400000 != 0) throw new IllegalArgumentException();
          return ms / 86400000;
        }, text, texts[0]);
      }
    }
  }

  static void json() throws Exception {
    String[] texts = {"", " ", "1", "-1", "+1", "01", "-01", "1.", ".5", "1.50", "1e5", "1E+5", "1e-7", "-0", "-0.0", "12345678901234567890123", "true", "tru", "trueish", "true1", "true,", "null", "nul", "\"a\"", "\"a", "'a'", "\"\\u0041\\/\"", "\"\\x\"", "\"a\nb\"", "\"\t\"", "[]", "[1,]", "[1 2]", "[1, [2, {\"a\": null}]]", "{}", "{\"a\":1,}", "{\"a\" : 1, \"a\": 2}", "{a:1}", "{\"a\"}", "[1] x", "{} {}", "1 2", "1,2", "12a", "1.5.2", "NaN", "Infinity", "-Infinity", "\"é\ud83d\ude00\u007f\"", "// c\n1", "[1,2", "\ufeff1", "\u00a01", "[0.10, 100e-2, 1.0E+10]", "\"\\ud83d\"", "{\"\": {\"b c\": [true, 1.20, \"x\"]}}", "[null]", "1\n", "\"a\"b", "nullx", "{\"x\\ny\": \"\\u0001\\u001f\\\\\\\"/\"}"};
    for (String text : texts) {
      row("IS_JSON_STRING(STRING)", () -> { try { return !JSON.readTree(text).isMissingNode(); } catch (com.fasterxml.jackson.core.JacksonException e) { return false; } }, text);
      row("EXTRACTJSONFIELD(STRING, STRING)", () -> { JsonNode node = JSON.readTree(text); return node.isTextual() ? node.asText() : node.toString(); }, text, "$");
      row("JSON_CONCAT(STRING)", () -> { JsonNode node = JSON.readTree(text); return node.isMissingNode() ? null : JSON.writeValueAsString(node); }, text);
      row("JSON_KEYS(STRING)", () -> { JsonNode node = JSON.readTree(text); if (!node.isObject()) return null; List<String> names = new ArrayList<>(); node.fieldNames().forEachRemaining(names::add); return names; }, text);
      row("JSON_ARRAY_LENGTH(STRING)", () -> { JsonNode node = JSON.readTree(text); return node.isArray() ? (Object) node.size() : null; }, text);
      row("JSON_ITEMS(STRING)", () -> { List<JsonNode> nodes = JSON.readValue(text, new com.fasterxml.jackson.core.type.TypeReference<List<JsonNode>>() {}); List<String> shown = new ArrayList<>(); nodes.forEach(node -> shown.add(node.toString())); return shown; }, text);
    }
    for (String text : List.of("", "a\"b\\c/\b\f\n\r\t\u0000\u001f\u007f\u0080é\u2028\ud83d\ude00", "<&'>")) {
      row("TO_JSON_STRING(STRING)", () -> JSON.writeValueAsString(text), text);
    }
  }

  static void numbers() throws Exception {
    Map<String, Function<Double, Double>> ofOne = new LinkedHashMap<>();
    ofOne.put("SIN", Math::sin); ofOne.put("COS", Math::cos); ofOne.put("TAN", Math::tan); ofOne.put("ASIN", Math::asin); ofOne.put("ACOS", Math::acos); ofOne.put("ATAN", Math::atan);
    ofOne.put("SINH", Math::sinh); ofOne.put("COSH", Math::cosh); ofOne.put("TANH", Math::tanh); ofOne.put("EXP", Math::exp); ofOne.put("LN", Math::log); ofOne.put("SQRT", Math::sqrt); ofOne.put("CBRT", Math::cbrt);
    ofOne.put("DEGREES", Math::toDegrees); ofOne.put("RADIANS", Math::toRadians); ofOne.put("CEIL", Math::ceil); ofOne.put("FLOOR", Math::floor); ofOne.put("COT", x -> 1 / Math.tan(x));
    double[] values = new double[40];
    double[] special = {0.0, -0.0, 1, -1, 0.5, -0.5, 1e-10, 1e10, 1e300, -1e300, 709.5, 710.5, -745.2, 27, -8, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN, Double.MIN_VALUE};
    for (int i = 0; i < values.length; i++) values[i] = i < special.length ? special[i] : RANDOM.nextGaussian() * Math.pow(10, RANDOM.nextInt(4) - 1);
    for (var entry : ofOne.entrySet()) for (double value : values) row(entry.getKey() + "(DOUBLE)", () -> shown(entry.getValue().apply(value)), shown(value));
    for (double value : values) row("ROUND(DOUBLE)", () -> Math.round(value), shown(value));
    for (int i = 0; i < 80; i++) {
      double x = special[RANDOM.nextInt(special.length)];
      double y = i < 40 ? special[RANDOM.nextInt(special.length)] : RANDOM.nextInt(9) - 4;
      row("POWER(DOUBLE, DOUBLE)", () -> shown(Math.pow(x, y)), shown(x), shown(y));
      row("ATAN2(DOUBLE, DOUBLE)", () -> shown(Math.atan2(x, y)), shown(x), shown(y));
      row("LOG(DOUBLE, DOUBLE)", () -> shown(x <= 0 || x == 1 ? Double.NaN : Math.log(y) / Math.log(x)), shown(x), shown(y));
    }
  }

  static Object shown(double value) { return Map.of("double", Double.toString(value)); }
}
