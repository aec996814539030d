// Makes arithmetic.jsonl and casts.jsonl beside it, once: run `java Numbers.java` in this folder (Java 17).
// Each line is a JSON array of texts: what goes in, then what Java answers, or null where it throws.
import java.io.*;
import java.math.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;

public class Numbers {
  static final Random RANDOM = new Random(7);

  interface Question { Object ask() throws Exception; }

  public static void main(String[] args) throws Exception {
    write("arithmetic.jsonl", arithmetic());
    write("casts.jsonl", casts());
  }

  // DECIMAL op DECIMAL: operator, both types, both values, the type of the result, the result.
  static List<Object[]> arithmetic() {
    List<Object[]> rows = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      String operator = new String[] {"+", "-", "*", "/", "%"}[i % 5];
      int[] a = type(), b = type();
      BigDecimal left = value(a), right = value(b);
      int[] t = result(operator, a, b);
      MathContext exact = new MathContext(t[0], RoundingMode.UNNECESSARY);
      Object answer = answer(() -> switch (operator) {
        case "+" -> left.add(right, exact).setScale(t[1]);
        case "-" -> left.subtract(right, exact).setScale(t[1]);
        case "*" -> left.multiply(right, exact).setScale(t[1]);
        case "/" -> left.divide(right, exact).setScale(t[1]);
        default -> left.remainder(right, exact).setScale(t[1]);
      });
      rows.add(new Object[] {operator, named(a), named(b), left.toPlainString(), right.toPlainString(), named(t), answer});
    }
    for (String[] whole : new String[][] {{"7", "-2"}, {"-7", "2"}, {"-2147483648", "-1"}, {"2147483647", "2147483647"}, {"5", "0"}}) {
      int a = Integer.parseInt(whole[0]), b = Integer.parseInt(whole[1]);
      int[] sums = {a + b, a - b, a * b};
      for (int i = 0; i < 3; i++) rows.add(new Object[] {"+-*".substring(i, i + 1), "INT", "INT", whole[0], whole[1], "INTEGER", sums[i]});
      rows.add(new Object[] {"/", "INT", "INT", whole[0], whole[1], "INTEGER", answer(() -> a / b)});
      rows.add(new Object[] {"%", "INT", "INT", whole[0], whole[1], "INTEGER", answer(() -> a % b)});
    }
    for (int i = 0; i < 60; i++) {
      double a = odd(), b = odd();
      double[] all = {a + b, a - b, a * b, a / b, a % b};
      for (int j = 0; j < 5; j++) rows.add(new Object[] {"+-*/%".substring(j, j + 1), "DOUBLE", "DOUBLE", a, b, "DOUBLE", all[j]});
    }
    return rows;
  }

  static double odd() {
    double[] some = {0.0, -0.0, 1, -1.5, 1e308, -1e308, 4.9e-324, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 3, 0.1};
    return RANDOM.nextInt(3) > 0 ? some[RANDOM.nextInt(some.length)] : RANDOM.nextGaussian() * 1e6;
  }

  static int[] type() {
    int precision = 1 + RANDOM.nextInt(12);
    return new int[] {precision, RANDOM.nextInt(precision + 1)};
  }

  static BigDecimal value(int[] type) {
    if (RANDOM.nextInt(10) == 0) return BigDecimal.ZERO.setScale(type[1]);
    BigInteger units = new BigInteger(40, RANDOM).mod(BigInteger.TEN.pow(1 + RANDOM.nextInt(type[0])));
    return new BigDecimal(RANDOM.nextBoolean() ? units : units.negate(), type[1]);
  }

  static int[] result(String operator, int[] a, int[] b) {
    int before = a[0] - a[1], other = b[0] - b[1], scale = Math.max(a[1], b[1]);
    return switch (operator) {
      case "+", "-" -> new int[] {Math.max(before, other) + scale + 1, scale};
      case "*" -> new int[] {a[0] + b[0] + 1, a[1] + b[1]};
      case "/" -> new int[] {before + b[1] + Math.max(6, a[1] + b[0] + 1), Math.max(6, a[1] + b[0] + 1)};
      default -> new int[] {Math.min(before, other) + scale, scale};
    };
  }

  // From, to, the text of the value, what becomes of it.
  static List<Object[]> casts() {
    List<Object[]> rows = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      double d = i < 40 ? odd() : RANDOM.nextGaussian() * Math.pow(10, RANDOM.nextInt(24) - 4);
      int[] t = type();
      rows.add(new Object[] {"DOUBLE", "INT", d, (int) d});
      rows.add(new Object[] {"DOUBLE", "BIGINT", d, (long) d});
      rows.add(new Object[] {"DOUBLE", named(t), d, answer(() -> fit(new BigDecimal(d, new MathContext(t[0])), t))});
      int[] from = type();
      BigDecimal n = value(from);
      rows.add(new Object[] {named(from), "INT", n.toPlainString(), n.intValue()});
      rows.add(new Object[] {named(from), "BIGINT", n.toPlainString(), n.longValue()});
      rows.add(new Object[] {named(from), "DOUBLE", n.toPlainString(), n.doubleValue()});
      rows.add(new Object[] {named(from), named(t), n.toPlainString(), answer(() -> n.precision() == t[0] && n.scale() == t[1] ? n : fit(n, t))});
      long whole = RANDOM.nextLong() >> RANDOM.nextInt(64);
      rows.add(new Object[] {"BIGINT", "INT", whole, (int) whole});
      rows.add(new Object[] {"BIGINT", "DOUBLE", whole, (double) whole});
      rows.add(new Object[] {"BIGINT", named(t), whole, answer(() -> fit(new BigDecimal(whole), t))});
    }
    String[] texts = {"1", " 12\t", "+5", "-5", "--5", "", " ", "1.", ".5", "1.5", "1e3", "1E-2", "1d", "1.5f", "0x1p3", "0x10", "1_0", "NaN", "Infinity", "-inf", "2147483647",
        "2147483648", "-2147483648", "9223372036854775807", "9223372036854775808", "99999.995", "1e400", "-0", "-0.0", "\u0661\u0662", "1,5", "0001", "1e", "e1", "."};
    for (String text : texts) {
      String trimmed = text.trim();
      rows.add(new Object[] {"STRING", "INT", text, answer(() -> Integer.parseInt(trimmed))});
      rows.add(new Object[] {"STRING", "BIGINT", text, answer(() -> Long.parseLong(trimmed))});
      rows.add(new Object[] {"STRING", "DOUBLE", text, answer(() -> finite(Double.parseDouble(trimmed)))});
      for (int[] t : new int[][] {{7, 2}, {20, 0}}) rows.add(new Object[] {"STRING", named(t), text, answer(() -> fit(new BigDecimal(trimmed), t))});
    }
    return rows;
  }

  static BigDecimal fit(BigDecimal value, int[] type) {
    if (value.abs().compareTo(BigDecimal.TEN.pow(type[0] - type[1])) >= 0) throw new ArithmeticException("too large");
    return value.setScale(type[1], RoundingMode.HALF_UP);
  }

  static double finite(double value) {
    if (Double.isNaN(value) || Double.isInfinite(value)) throw new NumberFormatException("not finite");
    return value;
  }

  static String named(int[] type) {
    return "DECIMAL(" + type[0] + ", " + type[1] + ")";
  }

  static Object answer(Question question) {
    try {
      return question.ask();
    } catch (Exception error) {
      return null;
    }
  }

  static void write(String name, List<Object[]> rows) throws IOException {
    StringBuilder out = new StringBuilder();
    for (Object[] row : rows) {
      StringJoiner parts = new StringJoiner(", ", "[", "]\n");
      for (Object part : row) parts.add(part == null ? "null" : quoted(part instanceof BigDecimal d ? d.toPlainString() : String.valueOf(part)));
      out.append(parts);
    }
    Files.write(Path.of(name), out.toString().getBytes(StandardCharsets.UTF_8));
  }

  static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\t", "\\t") + '"';
  }
}
