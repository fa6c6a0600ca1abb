import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/**
 * Real clients that measure a broker. Argument: name server. Each line of standard input is a command, each is answered
 * by one line of numbers:
 *   create TOPIC                 0, when the topic can be written to
 *   send TOPIC THREADS COUNT     nanoseconds for all, then of one send the median and the 99th percentile
 *   fill TOPIC COUNT             0; tags TagA and TagB in turn, in batches
 *   consume TOPIC TAG GROUP N    nanoseconds from the first of N messages to the last
 *   up                           0, when a producer has started
 *   first TOPIC                  nanoseconds since the epoch when a first message was acknowledged, tried until it is
 */
public class ServeBench {
    static String namesrv;
    static DefaultMQProducer producer;
    static final byte[] BODY = new byte[256];

    public static void main(String[] arguments) throws Exception {
        namesrv = arguments[0];
        Arrays.fill(BODY, (byte) 'x');
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.split(" ");
            System.out.println(run(words));
            System.out.flush();
        }
        System.exit(0);
    }

    static DefaultMQProducer producer() throws Exception {
        if (producer == null) {
            producer = new DefaultMQProducer("BenchP");
            producer.setNamesrvAddr(namesrv);
            producer.setRetryTimesWhenSendFailed(0);
            producer.start();
        }
        return producer;
    }

    static String run(String[] words) throws Exception {
        switch (words[0]) {
            case "create": return create(words[1]);
            case "send": return send(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]));
            case "fill": return fill(words[1], Integer.parseInt(words[2]));
            case "consume": return consume(words[1], words[2], words[3], Integer.parseInt(words[4]));
            case "up": producer(); return "0";
            case "first": return first(words[1]);
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    static String create(String topic) throws Exception {
        for (long end = System.currentTimeMillis() + 30_000;;) {
            try {
                producer().createTopic("TBW102", topic, 4);
                producer().send(new Message(topic, BODY));
                return "0";
            } catch (Exception error) {
                if (System.currentTimeMillis() > end) {
                    throw error;
                }
                Thread.sleep(50);
            }
        }
    }

    static String send(String topic, int threads, int count) throws Exception {
        long[] took = new long[count];
        AtomicInteger next = new AtomicInteger();
        List<Thread> all = new ArrayList<>();
        AtomicLong refused = new AtomicLong();
        CountDownLatch go = new CountDownLatch(1);
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> {
                try {
                    go.await();
                    for (int n; (n = next.getAndIncrement()) < count;) {
                        long begin = System.nanoTime();
                        Message message = new Message(topic, "TagA", BODY);
                        if (producer.send(message).getSendStatus() != SendStatus.SEND_OK) {
                            refused.incrementAndGet();
                        }
                        took[n] = System.nanoTime() - begin;
                    }
                } catch (Exception error) {
                    error.printStackTrace();
                    refused.incrementAndGet();
                }
            });
            thread.start();
            all.add(thread);
        }
        long begin = System.nanoTime();
        go.countDown();
        for (Thread thread : all) {
            thread.join();
        }
        long whole = System.nanoTime() - begin;
        if (refused.get() > 0) {
            throw new IllegalStateException(refused + " sends failed");
        }
        Arrays.sort(took);
        return whole + " " + took[count / 2] + " " + took[count * 99 / 100];
    }

    static String fill(String topic, int count) throws Exception {
        for (int n = 0; n < count;) {
            List<Message> batch = new ArrayList<>();
            for (; batch.size() < 500 && n < count; n++) {
                batch.add(new Message(topic, n % 2 == 0 ? "TagA" : "TagB", BODY));
            }
            if (producer().send(batch, 30_000).getSendStatus() != SendStatus.SEND_OK) {
                throw new IllegalStateException("a batch was refused");
            }
        }
        return "0";
    }

    static String consume(String topic, String tag, String group, int count) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(namesrv);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, tag);
        AtomicInteger got = new AtomicInteger();
        AtomicLong first = new AtomicLong();
        AtomicLong last = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            first.compareAndSet(0, System.nanoTime());
            if (got.addAndGet(messages.size()) >= count) {
                last.compareAndSet(0, System.nanoTime());
                done.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        done.await();
        consumer.shutdown();
        return String.valueOf(last.get() - first.get());
    }

    static String first(String topic) throws Exception {
        Message message = new Message(topic, "TagA", BODY);
        for (long end = System.currentTimeMillis() + 60_000;;) {
            try {
                producer().send(message);
                java.time.Instant now = java.time.Instant.now();
                return String.valueOf(now.getEpochSecond() * 1_000_000_000L + now.getNano());
            } catch (Exception error) {
                if (System.currentTimeMillis() > end) {
                    throw error;
                }
                Thread.sleep(5);
            }
        }
    }
}
