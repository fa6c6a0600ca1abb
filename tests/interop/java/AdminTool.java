import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.*;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.message.*;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * The scenario of the recorded set "admin", then commands of the real admin tool, all in one process. Arguments: name
 * server, a file with one command a line ({id1} and {key1} stand for the ids of the second message), a folder in which
 * the output of command n goes to n.txt, then the UNIQ_KEYs the messages shall have.
 */
public class AdminTool {
    static String namesrv;
    static final Map<String, Integer> SEEN = new ConcurrentHashMap<>();
    // a message that is sent back is stored again: no retry may come between two sends, the offsets are compared
    static final CompletableFuture<Void> ALL_SENT = new CompletableFuture<>();

    static <T extends ClientConfig> T named(T config, String name) {
        config.setNamesrvAddr(namesrv);
        config.setClientIP("192.0.2.2");
        config.setInstanceName(name + "_x-admin-000");
        config.setHeartbeatBrokerInterval(1000);
        config.setPollNameServerInterval(1000);
        config.setPersistConsumerOffsetInterval(500);
        return config;
    }

    static DefaultMQPushConsumer consumer(String name, String group, int laterTimes) {
        DefaultMQPushConsumer consumer = named(new DefaultMQPushConsumer(group + "_x-admin-000"), name);
        consumer.setConsumeThreadMin(1);
        consumer.setConsumeThreadMax(1);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            ALL_SENT.join();
            boolean later = false;
            for (MessageExt message : messages) {
                later |= SEEN.merge(name + new String(message.getBody()), 1, Integer::sum) <= laterTimes;
            }
            return later ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        return consumer;
    }

    static void until(java.util.concurrent.Callable<Boolean> condition, String what) throws Exception {
        for (long end = System.currentTimeMillis() + 60_000; !condition.call(); Thread.sleep(20)) {
            if (System.currentTimeMillis() > end) {
                throw new AssertionError("waited in vain: " + what + " " + SEEN);
            }
        }
    }

    static int queues(DefaultMQPushConsumer consumer) {
        return consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().size();
    }

    public static void main(String[] arguments) {
        try {
            run(arguments);
        } catch (Throwable error) {
            error.printStackTrace();
        }
        Runtime.getRuntime().halt(0);
    }

    static void run(String[] arguments) throws Exception {
        namesrv = arguments[0];
        List<String> keys = List.of(arguments).subList(3, arguments.length);
        DefaultMQProducer producer = named(new DefaultMQProducer("PROD_x-admin-000"), "P");
        producer.start();
        producer.createTopic("TBW102", "T_x-admin-000", 4);
        producer.createTopic("TBW102", "U_x-admin-000", 2);
        Thread.sleep(200);
        DefaultMQPushConsumer a = consumer("A", "G", 0), b = consumer("B", "G", 0), c = consumer("C", "H", 1);
        a.subscribe("T_x-admin-000", "tagA");
        a.start();
        until(() -> queues(a) == 5, "A has all queues");
        b.subscribe("T_x-admin-000", "tagB");
        b.start();
        c.subscribe("T_x-admin-000", MessageSelector.bySql("a > 3"));
        c.subscribe("U_x-admin-000", "*");
        c.start();
        until(() -> queues(a) == 3 && queues(b) == 2 && queues(c) == 7, "the queues are shared");
        Thread.sleep(100);
        b.subscribe("T_x-admin-000", "tagB"); // in the recording B's version was 11 ms newer than A's; here it always is
        // that subscription comes with the next heartbeat when one is under way just now: a machine under load takes long
        MQClientInstance instance = producer.getDefaultMQProducerImpl().getmQClientFactory();
        String broker = instance.findBrokerAddressInPublish("broker-a");
        until(() -> "tagB".equals(instance.getMQClientAPIImpl().getConsumerConnectionList(broker, "G_x-admin-000", 3000)
            .getSubscriptionTable().get("T_x-admin-000").getSubString()), "B's tag is in force");
        String[][] messages = {{"T", "tagA", "k0", "MsgStr0", "1"}, {"T", "tagA", "k1", "MsgStr1", "5"},
            {"T", "tagB", "k2 k3", "MsgStr2", "9"}, {"T", "tagB", null, "MsgStr3", null},
            {"U", "x", null, "u0", null}, {"U", "y", null, "u1", null}};
        SendResult second = null;
        for (int i = 0; i < messages.length; i++) {
            String[] m = messages[i];
            Message message = new Message(m[0] + "_x-admin-000", m[1], m[2], m[3].getBytes(StandardCharsets.UTF_8));
            if (m[4] != null) {
                message.putUserProperty("a", m[4]);
            }
            MessageAccessor.putProperty(message, MessageConst.PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX, keys.get(i));
            MessageQueue queue = new MessageQueue(message.getTopic(), "broker-a", i < 4 ? i : i - 4);
            SendResult result = producer.send(message, queue);
            if (i == 1) {
                second = result;
            }
        }
        ALL_SENT.complete(null);
        Map<String, Integer> wanted = Map.of("BMsgStr2", 1, "BMsgStr3", 1, "CMsgStr1", 2, "CMsgStr2", 2, "Cu0", 2, "Cu1", 2);
        until(() -> SEEN.equals(wanted), "everything is consumed");
        Thread.sleep(1000); // pulls that nothing matches are held for 200 ms before their consumers move on
        for (DefaultMQPushConsumer consumer : List.of(a, b, c)) {
            consumer.getDefaultMQPushConsumerImpl().persistConsumerOffset();
        }
        Thread.sleep(500); // nobody answers a commit
        System.setProperty("rocketmq.namesrv.addr", namesrv);
        PrintStream out = System.out;
        List<String> lines = Files.readAllLines(Path.of(arguments[1]));
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).replace("{id1}", second.getOffsetMsgId()).replace("{key1}", second.getMsgId());
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            System.setOut(new PrintStream(printed, true, "UTF-8"));
            MQAdminStartup.main0(line.split(" "), null);
            System.out.flush();
            System.setOut(out);
            Files.write(Path.of(arguments[2], i + ".txt"), printed.toByteArray());
        }
    }
}
