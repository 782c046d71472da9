import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;

/** What the programs of all Java clients share: the servers' addresses and keys, and the line for each check. */
final class Checks {
  static final String URL = System.getenv("SIGNALBOX_URL");
  static final String KEY = System.getenv("SIGNALBOX_KEY");
  static final String UNCOUNTED_KEY = System.getenv("UNCOUNTED_KEY");
  static final String EMPTY_KEY = System.getenv("EMPTY_KEY");
  static final String FAULTY_URL = System.getenv("FAULTY_URL");
  static final String FAULTY_KEY = System.getenv("FAULTY_KEY");

  /** The usage of one call with KEY, as the client showed it. The Credits are null where the client does not show them. */
  record Usage(long input, long output, Double credits) {
    @Override
    public String toString() {
      var more = credits == null ? "" : String.format(Locale.ROOT, ",\"credits\":%.6f", credits);
      return "{\"input\":" + input + ",\"output\":" + output + more + "}";
    }
  }

  interface Check {
    /** Returns the usage of its calls with KEY. */
    List<Usage> run() throws Exception;
  }

  private static boolean failed = false;

  /** Runs a check at once, and prints its line. */
  static void check(String name, Check check) {
    try {
      System.out.println("{\"check\":\"" + name + "\",\"usage\":" + check.run() + "}");
    } catch (Throwable error) {
      failed = true;
      System.err.println(name + ":");
      error.printStackTrace();
    }
  }

  /** Stops the check if a condition does not hold. */
  static void expect(boolean holds, Object what) {
    if (!holds) throw new AssertionError(what);
  }

  /** The error of this class that a call must throw. */
  static <T extends Throwable> T thrown(Class<T> kind, Callable<?> call) {
    Object found;
    try {
      found = call.call();
    } catch (Throwable error) {
      if (kind.isInstance(error)) return kind.cast(error);
      throw new AssertionError(kind + " was not thrown, but this was", error);
    }
    throw new AssertionError(kind + " was not thrown, but this was returned: " + found);
  }

  /** Ends the program, also if a client left a thread: with 1 if a check failed. */
  static void finish() {
    System.exit(failed ? 1 : 0);
  }
}
