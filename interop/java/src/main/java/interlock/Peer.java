package interlock;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.ShardedSubscriptionMode;

/**
 * Runs commands on Redisson's locks, one per line:
 *
 * <pre>
 *   ID CLIENT THREAD VERB ARGUMENT…    command, on standard input
 *   ID ok ANSWER                       result, on standard output
 *   ID error TEXT
 * </pre>
 *
 * CLIENT names a Redisson client. Redisson's locks belong to threads, so each THREAD of a client is
 * a Java thread, which runs its commands in order. The program ends with its input.
 */
public final class Peer {
  private static final String CLUSTER = "redis+cluster://";

  private final Map<String, RedissonClient> clients = new ConcurrentHashMap<>();
  private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();

  public static void main(String[] args) throws IOException {
    new Peer().serve();
    System.exit(0); // even if a thread still waits for a lock
  }

  private void serve() throws IOException {
    var commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = commands.readLine()) != null; ) {
      var words = line.split(" ");
      threads
          .computeIfAbsent(words[1] + " " + words[2], name -> Executors.newSingleThreadExecutor())
          .execute(() -> answer(words));
    }
  }

  private void answer(String[] words) {
    String answer;
    try {
      answer = "ok " + run(words[1], words[3], Arrays.asList(words).subList(4, words.length));
    } catch (Exception | LinkageError e) {
      answer = "error " + e.toString().replaceAll("\\s+", " ");
    }
    synchronized (System.out) {
      System.out.println(words[0] + " " + answer);
      System.out.flush();
    }
  }

  private Object run(String client, String verb, List<String> args)
      throws InterruptedException, ReflectiveOperationException {
    switch (verb) {
      case "open": // URL, lockWatchdogTimeout in ms, prefix or -, shardedSubscriptionMode
        clients.put(client, open(args.get(0), Long.parseLong(args.get(1)), args.get(2), args.get(3)));
        return "";
      case "close":
        clients.remove(client).shutdown(0, 2, TimeUnit.SECONDS);
        return "";
      case "token": // KEY
        return clients.get(client).getFencedLock(args.get(0)).lockAndGetToken();
      default:
        return use(clients.get(client), lock(clients.get(client), args.get(0), args.get(1)), verb, args);
    }
  }

  /** Runs a verb whose first arguments are the lock's kind and key. */
  private static Object use(RedissonClient redisson, RLock lock, String verb, List<String> args)
      throws InterruptedException {
    switch (verb) {
      case "lock":
        lock.lock();
        return true;
      case "try": // wait and lease in ms; a lease of -1 is renewed
        return lock.tryLock(Long.parseLong(args.get(2)), Long.parseLong(args.get(3)), TimeUnit.MILLISECONDS);
      case "unlock":
        lock.unlock();
        return "";
      case "force":
        return lock.forceUnlock();
      case "locked":
        return lock.isLocked();
      case "count":
        return lock.getHoldCount();
      case "write": // KEY of a text, how often to append the letter J
        write(lock, redisson.getBucket(args.get(2), StringCodec.INSTANCE), Integer.parseInt(args.get(3)));
        return "";
      default:
        throw new IllegalArgumentException("no such verb: " + verb);
    }
  }

  /** Appends to a text by reading it and writing it back. Only the lock makes that safe. */
  private static void write(RLock lock, RBucket<String> text, int rounds)
      throws InterruptedException {
    for (int i = 0; i < rounds; i++) {
      lock.lock();
      try {
        var before = text.get();
        text.set((before == null ? "" : before) + "J");
      } finally {
        lock.unlock();
      }
      Thread.sleep(1); // so that others get the lock
    }
  }

  private static RLock lock(RedissonClient redisson, String kind, String key) {
    switch (kind) {
      case "exclusive":
        return redisson.getLock(key);
      case "fair":
        return redisson.getFairLock(key);
      case "fenced":
        return redisson.getFencedLock(key);
      case "read":
        return redisson.getReadWriteLock(key).readLock();
      case "write":
        return redisson.getReadWriteLock(key).writeLock();
      case "multi": // several keys
        return redisson.getMultiLock(
            Arrays.stream(key.split(",")).map(redisson::getLock).toArray(RLock[]::new));
      default:
        throw new IllegalArgumentException("no such kind: " + kind);
    }
  }

  /** Opens a client with few threads, because one small process has several clients. */
  private static RedissonClient open(String url, long watchdog, String prefix, String sharded)
      throws ReflectiveOperationException {
    var config = new Config().setThreads(4).setNettyThreads(4).setLockWatchdogTimeout(watchdog);
    Object servers;
    if (url.startsWith(CLUSTER)) {
      var nodes = url.substring(CLUSTER.length()).split(",");
      servers =
          config
              .useClusterServers()
              .addNodeAddress(Arrays.stream(nodes).map(node -> "redis://" + node).toArray(String[]::new))
              .setShardedSubscriptionMode(ShardedSubscriptionMode.valueOf(sharded))
              .setMasterConnectionMinimumIdleSize(2)
              .setSlaveConnectionMinimumIdleSize(1)
              .setSubscriptionConnectionMinimumIdleSize(1);
    } else {
      servers =
          config
              .useSingleServer()
              .setAddress(url)
              .setConnectionMinimumIdleSize(2)
              .setSubscriptionConnectionMinimumIdleSize(1);
    }
    if (!prefix.equals("-")) {
      setPrefix(servers, prefix);
    }
    return Redisson.create(config);
  }

  /** Sets a NameMapper, an interface that Redisson 4 has in another package than Redisson 3. */
  private static void setPrefix(Object servers, String prefix) throws ReflectiveOperationException {
    for (var method : servers.getClass().getMethods()) {
      if (method.getName().equals("setNameMapper")) {
        var type = method.getParameterTypes()[0];
        InvocationHandler mapper =
            (proxy, called, args) -> {
              var name = (String) args[0];
              return called.getName().equals("map") ? prefix + name : name.substring(prefix.length());
            };
        method.invoke(servers, Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, mapper));
        return;
      }
    }
    throw new NoSuchMethodException("setNameMapper");
  }

  private Peer() {}
}
