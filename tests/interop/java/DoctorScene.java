import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import org.apache.rocketmq.client.consumer.*;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.*;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Many real clients in one JVM, started and stopped by lines on standard input. Arguments: name server, client IP.
 * A line has its fields between tabs. Each is answered with a line "@ok WORD..." or "@failed WORD... WHY":
 *   topic TOPIC QUEUES
 *   start WHO GROUP push|lite clustering|broadcasting QUEUES|- (TOPIC TAG|SQL92 EXPRESSION)+
 *     QUEUES: "TOPIC/BROKER/NUMBER,...": the queues that AllocateMessageQueueByConfig gives this member
 *   stop WHO
 *   produce TOPIC TAG,TAG,... MS      a message each MS, its tags in turn, property a = number modulo 10
 *   held                              answered with "@ok held WHO=TOPIC/NUMBER,... ..."
 *   mqadmin NUMBER WORD...            a command of the admin tool; its output is in the answer, "\\n" for its line ends
 */
public class DoctorScene {
    static final PrintStream OUT = System.out;
    static String address;
    static final Map<String, DefaultMQPushConsumer> PUSHING = new ConcurrentSkipListMap<>();
    static final Map<String, DefaultLitePullConsumer> POLLING = new ConcurrentSkipListMap<>();
    static final ExecutorService THREADS = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    });
    static DefaultMQProducer producer;

    static synchronized void tell(String line) {
        OUT.println(line);
        OUT.flush();
    }

    /** One at a time: what the tool prints is caught in the place of standard output. */
    static String mqadmin(String[] words) throws Exception {
        synchronized (PUSHING) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            System.setOut(new PrintStream(printed, true, "UTF-8"));
            MQAdminStartup.main0(Arrays.copyOfRange(words, 2, words.length), null);
            System.setOut(OUT);
            return "\t" + printed.toString("UTF-8").replace("\t", " ").replace("\n", "\\n");
        }
    }

    static synchronized DefaultMQProducer producer() throws Exception {
        if (producer == null) {
            producer = Interop.producer(false);
        }
        return producer;
    }

    static MessageSelector selector(String type, String expression) {
        return type.equals("SQL92") ? MessageSelector.bySql(expression) : MessageSelector.byTag(expression);
    }

    static AllocateMessageQueueStrategy given(String text) {
        List<MessageQueue> queues = new ArrayList<>();
        for (String one : text.split(",")) {
            String[] parts = one.split("/");
            queues.add(new MessageQueue(parts[0], parts[1], Integer.parseInt(parts[2])));
        }
        AllocateMessageQueueByConfig strategy = new AllocateMessageQueueByConfig();
        strategy.setMessageQueueList(queues);
        return strategy;
    }

    static <T extends org.apache.rocketmq.client.ClientConfig> T named(T config, String who) {
        Interop.quick(config, who);
        config.setInstanceName(who);
        config.setClientIP(address);
        return config;
    }

    static void start(String[] words) throws Exception {
        String who = words[1], group = words[2];
        if (words[3].equals("lite")) {
            poll(words);
            return;
        }
        DefaultMQPushConsumer consumer = named(new DefaultMQPushConsumer(group), who);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeThreadMin(1);
        consumer.setConsumeThreadMax(1);
        if (words[4].equals("broadcasting")) {
            Interop.broadcasting(consumer);
        }
        if (!words[5].equals("-")) {
            consumer.setAllocateMessageQueueStrategy(given(words[5]));
        }
        for (int i = 6; i < words.length; i += 3) {
            consumer.subscribe(words[i], selector(words[i + 1], words[i + 2]));
        }
        consumer.registerMessageListener(
            (MessageListenerConcurrently) (messages, context) -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
        PUSHING.put(who, consumer);
        consumer.start();
    }

    static void poll(String[] words) throws Exception {
        DefaultLitePullConsumer consumer = named(new DefaultLitePullConsumer(words[2]), words[1]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPullThreadNums(1);
        consumer.setAutoCommitIntervalMillis(1000);
        for (int i = 6; i < words.length; i += 3) {
            consumer.subscribe(words[i], selector(words[i + 1], words[i + 2]));
        }
        consumer.start();
        POLLING.put(words[1], consumer);
        THREADS.submit(() -> {
            try {
                while (POLLING.containsKey(words[1])) {
                    consumer.poll(200);
                }
                consumer.shutdown();
            } catch (Throwable error) {
                error.printStackTrace();
            }
        });
    }

    static void stop(String who) {
        DefaultMQPushConsumer consumer = PUSHING.remove(who);
        if (consumer != null) {
            consumer.shutdown();
        } else {
            POLLING.remove(who);
        }
    }

    static void produce(String topic, String[] tags, long period) throws Exception {
        DefaultMQProducer producer = producer();
        THREADS.submit(() -> {
            for (int number = 0;; number++) {
                Message message = new Message(topic, tags[number % tags.length], Interop.bytes(topic + number));
                message.putUserProperty("a", String.valueOf(number % 10));
                try {
                    producer.send(message);
                } catch (Exception error) {
                    // the broker may be away for a while
                }
                Thread.sleep(period);
            }
        });
    }

    static String held() {
        StringBuilder text = new StringBuilder();
        PUSHING.forEach((who, consumer) -> {
            List<String> queues = new ArrayList<>();
            for (MessageQueue queue : consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl()
                .getProcessQueueTable().keySet()) {
                if (!queue.getTopic().startsWith("%RETRY%")) {
                    queues.add(queue.getTopic() + "/" + queue.getQueueId());
                }
            }
            Collections.sort(queues);
            text.append("\t").append(who).append("=").append(String.join(",", queues));
        });
        return text.toString();
    }

    static void run(String line) {
        String[] words = line.split("\t");
        String about = words[0] + (words.length > 1 ? "\t" + words[1] : "");
        try {
            switch (words[0]) {
                case "topic": Interop.create(producer(), words[1], Integer.parseInt(words[2])); break;
                case "start": start(words); break;
                case "stop": stop(words[1]); break;
                case "produce": produce(words[1], words[2].split(","), Long.parseLong(words[3])); break;
                case "held": about += held(); break;
                case "mqadmin": about += mqadmin(words); break;
                default: throw new IllegalArgumentException(line);
            }
            tell("@ok\t" + about);
        } catch (Throwable error) {
            tell("@failed\t" + about + "\t" + String.valueOf(error).replaceAll("\\s+", " "));
        }
    }

    public static void main(String[] arguments) throws Exception {
        Interop.namesrv = arguments[0];
        address = arguments[1];
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String command = line;
            THREADS.submit(() -> run(command));
        }
        Runtime.getRuntime().halt(0); // its members vanish: nobody has said good-bye to the broker
    }
}
