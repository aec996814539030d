// Writes random doubles, as bits and as text: `java Doubles.java 1000000`.
import java.io.*;
import java.util.Random;

public class Doubles {
  public static void main(String[] args) throws Exception {
    Random random = new Random(7);
    PrintStream out = new PrintStream(new BufferedOutputStream(System.out), false);
    for (int i = 0; i < Integer.parseInt(args[0]); i++) {
      double value = i % 2 == 0 ? Double.longBitsToDouble(random.nextLong()) : (random.nextDouble() - 0.5) * Math.pow(10, random.nextInt(24) - 8);
      out.println(Long.toHexString(Double.doubleToLongBits(value)) + " " + value);
    }
    out.flush();
  }
}
