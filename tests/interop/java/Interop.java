import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.function.Supplier;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.*;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.*;
import org.apache.rocketmq.remoting.RPCHook;

/**
 * Real clients against any broker. Arguments: name server, then the names of checks, each with its own topics and
 * groups. One line a check: "ok NAME" or "failed NAME: why"; lines "message TOPIC QUEUE OFFSET BODY" from "dump:TOPIC".
 * Environment: ACCESS_KEY and SECRET_KEY sign every request.
 */
public class Interop {
    static String namesrv;
    static final PrintStream OUT = System.out;
    static final AtomicInteger NUMBER = new AtomicInteger();

    interface Check {
        void run() throws Exception;
    }

    static RPCHook hook() {
        String key = System.getenv("ACCESS_KEY");
        return key == null ? null : new AclClientRPCHook(new SessionCredentials(key, System.getenv("SECRET_KEY")));
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(MessageExt message) {
        return new String(message.getBody(), StandardCharsets.UTF_8);
    }

    static void that(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(String.valueOf(what));
        }
    }

    static void until(Callable<Boolean> condition, Supplier<Object> what) throws Exception {
        for (long end = System.currentTimeMillis() + 15_000; !condition.call();) {
            if (System.currentTimeMillis() > end) {
                throw new AssertionError("waited in vain: " + what.get());
            }
            Thread.sleep(10);
        }
    }

    /** Clients look after themselves every second: their own 20 to 30 s are no time for a test. */
    static <T extends ClientConfig> T quick(T config, String name) {
        config.setNamesrvAddr(namesrv);
        config.setInstanceName(name + NUMBER.incrementAndGet());
        config.setHeartbeatBrokerInterval(1000);
        config.setPollNameServerInterval(1000);
        config.setPersistConsumerOffsetInterval(1000);
        return config;
    }

    static DefaultMQProducer producer(boolean trace) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("P" + NUMBER.incrementAndGet(), hook(), trace, null);
        quick(producer, "p");
        producer.start();
        return producer;
    }

    /** In 5.x the method has attributes too. */
    static void create(DefaultMQProducer producer, String topic, int queues) throws Exception {
        for (java.lang.reflect.Method method : DefaultMQProducer.class.getMethods()) {
            Class<?>[] kinds = method.getParameterTypes();
            if (method.getName().equals("createTopic") && kinds[2] == int.class) {
                if (kinds.length == 3) {
                    method.invoke(producer, "TBW102", topic, queues);
                    return;
                }
                if (kinds.length == 4 && kinds[3] == Map.class) {
                    method.invoke(producer, "TBW102", topic, queues, new HashMap<String, String>());
                    return;
                }
            }
        }
        throw new AssertionError("no createTopic");
    }

    static DefaultMQPushConsumer push(String group, String topic, String tags) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group, hook(), new AllocateMessageQueueAveragely());
        quick(consumer, "c");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        if (tags != null) {
            consumer.subscribe(topic, tags);
        }
        return consumer;
    }

    static List<MessageExt> collecting(DefaultMQPushConsumer consumer) throws Exception {
        List<MessageExt> got = Collections.synchronizedList(new ArrayList<>());
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            got.addAll(messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        return got;
    }

    static Set<String> bodies(Collection<MessageExt> messages) {
        Set<String> bodies = new TreeSet<>();
        synchronized (messages) {
            for (MessageExt message : messages) {
                bodies.add(text(message));
            }
        }
        return bodies;
    }

    static void sends() throws Exception {
        DefaultMQProducer producer = producer(false);
        create(producer, "Sends", 4);
        SendResult sync = producer.send(new Message("Sends", "a", "k", bytes("sync")));
        that(sync.getSendStatus() == SendStatus.SEND_OK && sync.getOffsetMsgId().length() == 32, sync);
        CountDownLatch answered = new CountDownLatch(20);
        for (int i = 0; i < 20; i++) {
            producer.send(new Message("Sends", "a", bytes("async" + i)), new SendCallback() {
                public void onSuccess(SendResult result) {
                    answered.countDown();
                }

                public void onException(Throwable error) {
                    error.printStackTrace();
                }
            });
        }
        that(answered.await(10, TimeUnit.SECONDS), "asynchronous sends");
        producer.sendOneway(new Message("Sends", "b", bytes("oneway")));
        List<Message> batch = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            batch.add(new Message("Sends", "b", bytes("batch" + i)));
        }
        that(producer.send(batch).getSendStatus() == SendStatus.SEND_OK, "batch");
        producer.send(new Message("Sends", "c", new byte[100_000]));
        MessageExt viewed = producer.viewMessage("Sends", sync.getMsgId());
        that(text(viewed).equals("sync"), viewed);
        that(producer.queryMessage("Sends", "k", 10, 0, Long.MAX_VALUE).getMessageList().size() == 1, "by key");

        DefaultMQPushConsumer all = push("SendsAll", "Sends", "*");
        List<MessageExt> got = collecting(all);
        DefaultMQPushConsumer tagged = push("SendsTag", "Sends", "b || c");
        List<MessageExt> some = collecting(tagged);
        until(() -> got.size() == 33 && some.size() == 12, () -> got.size() + " " + some.size());
        for (MessageExt message : got) {
            if (message.getBody().length == 100_000) {
                that(message.getTags().equals("c"), message);
            }
        }
        all.shutdown();
        tagged.shutdown();
        producer.shutdown();
    }

    /** All but pulls go two ports below, as clients before 4.5.1 do by themselves. */
    static void vip() throws Exception {
        DefaultMQProducer producer = quick(new DefaultMQProducer("VipP", hook()), "p");
        producer.setVipChannelEnabled(true);
        producer.start();
        create(producer, "Vip", 1);
        SendResult sent = producer.send(new Message("Vip", "a", bytes("over the VIP channel")));
        that(sent.getSendStatus() == SendStatus.SEND_OK, sent);
        DefaultMQPushConsumer consumer = push("VipG", "Vip", "a");
        consumer.setVipChannelEnabled(true);
        List<MessageExt> got = collecting(consumer);
        until(() -> got.size() == 1, () -> bodies(got));
        that(text(producer.viewMessage("Vip", sent.getMsgId())).equals("over the VIP channel"), sent);
        consumer.shutdown();
        producer.shutdown();
    }

    static void delay() throws Exception {
        DefaultMQProducer producer = producer(false);
        create(producer, "Delay", 1);
        Map<String, Long> times = new ConcurrentHashMap<>();
        DefaultMQPushConsumer consumer = push("DelayG", "Delay", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                times.put(text(message), System.currentTimeMillis());
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        // the order of the two below says something only once the consumer has its queue
        producer.send(new Message("Delay", bytes("first")));
        until(() -> times.containsKey("first"), () -> times);
        Message later = new Message("Delay", bytes("later"));
        later.setDelayTimeLevel(1);
        long sent = System.currentTimeMillis();
        producer.send(later);
        producer.send(new Message("Delay", bytes("now")));
        until(() -> times.size() == 3, () -> times);
        that(times.get("later") - sent >= 1000 && times.get("now") <= times.get("later"), times + " " + sent);
        consumer.shutdown();
        producer.shutdown();
    }

    static void ordered() throws Exception {
        DefaultMQProducer producer = producer(false);
        create(producer, "Ordered", 4);
        for (int i = 0; i < 40; i++) {
            int order = i % 4;
            producer.send(new Message("Ordered", bytes(order + "-" + i / 4)),
                (queues, message, arg) -> queues.get((Integer) arg), order);
        }
        Map<String, List<Integer>> got = new ConcurrentHashMap<>();
        AtomicInteger count = new AtomicInteger();
        DefaultMQPushConsumer consumer = push("OrderedG", "Ordered", "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            for (MessageExt message : messages) {
                String[] parts = text(message).split("-");
                got.computeIfAbsent(parts[0], key -> Collections.synchronizedList(new ArrayList<>()))
                    .add(Integer.parseInt(parts[1]));
                count.incrementAndGet();
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        until(() -> count.get() >= 40, () -> got);
        for (List<Integer> one : got.values()) {
            List<Integer> sorted = new ArrayList<>(one);
            Collections.sort(sorted);
            that(one.equals(sorted) && one.size() == 10, got);
        }
        consumer.shutdown();
        producer.shutdown();
    }

    static void transaction() throws Exception {
        Set<String> asked = ConcurrentHashMap.newKeySet();
        TransactionMQProducer producer = new TransactionMQProducer("TxP", hook());
        quick(producer, "tx");
        producer.setTransactionListener(new TransactionListener() {
            public LocalTransactionState executeLocalTransaction(Message message, Object arg) {
                return (LocalTransactionState) arg;
            }

            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                asked.add(text(message));
                that(message.getTopic().equals("Tx"), message);
                return text(message).endsWith("yes") ? LocalTransactionState.COMMIT_MESSAGE
                    : LocalTransactionState.ROLLBACK_MESSAGE;
            }
        });
        producer.start();
        create(producer, "Tx", 2);
        DefaultMQPushConsumer consumer = push("TxG", "Tx", "*");
        List<MessageExt> got = collecting(consumer);
        producer.sendMessageInTransaction(new Message("Tx", bytes("commit")), LocalTransactionState.COMMIT_MESSAGE);
        producer.sendMessageInTransaction(new Message("Tx", bytes("rollback")), LocalTransactionState.ROLLBACK_MESSAGE);
        producer.sendMessageInTransaction(new Message("Tx", bytes("unknown-yes")), LocalTransactionState.UNKNOW);
        producer.sendMessageInTransaction(new Message("Tx", bytes("unknown-no")), LocalTransactionState.UNKNOW);
        // Of the others the broker may ask too, when the word about them comes later than its time limit of 100 ms.
        Set<String> unknown = new TreeSet<>(Arrays.asList("unknown-no", "unknown-yes"));
        until(() -> got.size() >= 2 && asked.containsAll(unknown), () -> bodies(got) + " asked " + asked);
        Thread.sleep(200);
        that(bodies(got).equals(new TreeSet<>(Arrays.asList("commit", "unknown-yes"))), bodies(got));
        that(got.size() == 2, got);
        consumer.shutdown();
        producer.shutdown();
    }

    static void lite() throws Exception {
        DefaultMQProducer producer = producer(false);
        create(producer, "Lite", 2);
        for (int i = 0; i < 20; i++) {
            producer.send(new Message("Lite", i % 2 == 0 ? "even" : "odd", bytes("" + i)));
        }
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer("LiteG", hook());
        quick(consumer, "lite");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("Lite", "even");
        consumer.start();
        List<MessageExt> got = new ArrayList<>();
        until(() -> got.addAll(consumer.poll(100)) | got.size() == 10, () -> got);
        for (MessageExt message : got) {
            that(message.getTags().equals("even"), message);
        }
        consumer.commitSync();
        consumer.shutdown();
        producer.shutdown();
    }

    static void sql() throws Exception {
        DefaultMQProducer producer = producer(false);
        create(producer, "Sql", 2);
        for (int i = 0; i < 10; i++) {
            Message message = new Message("Sql", "t", bytes("" + i));
            message.putUserProperty("a", "" + i);
            producer.send(message);
        }
        DefaultMQPushConsumer consumer = push("SqlG", "Sql", null);
        consumer.subscribe("Sql", MessageSelector.bySql("a between 2 and 4 or TAGS is null"));
        List<MessageExt> got = collecting(consumer);
        until(() -> got.size() == 3, () -> bodies(got));
        that(bodies(got).equals(new TreeSet<>(Arrays.asList("2", "3", "4"))), bodies(got));
        DefaultMQPushConsumer wrong = push("SqlWrong", "Sql", null);
        wrong.subscribe("Sql", MessageSelector.bySql("a ><> 2"));
        try {
            collecting(wrong);
            that(false, "a wrong expression was taken");
        } catch (org.apache.rocketmq.client.exception.MQClientException error) {
            that(error.getResponseCode() == 23, error);
        }
        consumer.shutdown();
        wrong.shutdown();
        producer.shutdown();
    }

    static void retry() throws Exception {
        DefaultMQProducer producer = producer(false);
        create(producer, "Retry", 1);
        producer.send(new Message("Retry", bytes("again")));
        // A group's first member may learn of its retry topic 20 to 40 s late, whichever broker: let it be there.
        DefaultMQPushConsumer before = push("RetryG", "Retry", "nothing");
        collecting(before);
        before.shutdown();
        List<Integer> times = Collections.synchronizedList(new ArrayList<>());
        DefaultMQPushConsumer consumer = push("RetryG", "Retry", "*");
        consumer.setMaxReconsumeTimes(2);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                that(message.getTopic().equals("Retry"), message);
                times.add(message.getReconsumeTimes());
            }
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        consumer.start();
        until(() -> times.size() == 3, () -> times);
        that(times.equals(Arrays.asList(0, 1, 2)), times);
        consumer.shutdown();
        producer.shutdown();
    }

    /** The enum has moved to another package in 5.x. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    static void broadcasting(DefaultMQPushConsumer consumer) throws Exception {
        for (java.lang.reflect.Method method : DefaultMQPushConsumer.class.getMethods()) {
            if (method.getName().equals("setMessageModel")) {
                method.invoke(consumer, Enum.valueOf((Class) method.getParameterTypes()[0], "BROADCASTING"));
            }
        }
    }

    static void broadcast() throws Exception {
        DefaultMQProducer producer = producer(false);
        create(producer, "Broadcast", 2);
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        List<List<MessageExt>> got = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            DefaultMQPushConsumer consumer = push("BroadcastG", "Broadcast", "*");
            broadcasting(consumer);
            consumers.add(consumer);
            got.add(collecting(consumer));
        }
        for (int i = 0; i < 6; i++) {
            producer.send(new Message("Broadcast", bytes("" + i)));
        }
        until(() -> got.get(0).size() == 6 && got.get(1).size() == 6, () -> got.get(0).size() + " " + got.get(1).size());
        for (DefaultMQPushConsumer consumer : consumers) {
            consumer.shutdown();
        }
        producer.shutdown();
    }

    static void trace() throws Exception {
        DefaultMQProducer producer = producer(true);
        create(producer, "Traced", 1);
        SendResult result = producer.send(new Message("Traced", "t", "key", bytes("watched")));
        DefaultMQPushConsumer reader = push("TraceReader", "RMQ_SYS_TRACE_TOPIC", "*");
        List<MessageExt> got = collecting(reader);
        until(() -> !got.isEmpty(), () -> "trace");
        that(bodies(got).toString().contains(result.getMsgId()), bodies(got));
        reader.shutdown();
        producer.shutdown();
    }

    /** Two members of one group ask for two tags: the broker keeps one subscription, six of eight messages are gone. */
    static void article() throws Exception {
        DefaultMQProducer producer = producer(false);
        create(producer, "Article", 4);
        Thread.sleep(300);
        DefaultMQPushConsumer first = push("ArticleG", "Article", "tagA");
        List<MessageExt> a = collecting(first);
        Thread.sleep(300);
        DefaultMQPushConsumer second = push("ArticleG", "Article", "tagB");
        List<MessageExt> b = collecting(second);
        Callable<Boolean> shared = () -> {
            int[] owned = new int[2];
            int i = 0;
            for (DefaultMQPushConsumer consumer : Arrays.asList(first, second)) {
                for (MessageQueue queue : consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet()) {
                    owned[i] += queue.getTopic().equals("Article") ? 1 : 0;
                }
                i++;
            }
            return owned[0] == 2 && owned[1] == 2;
        };
        until(shared, () -> "two queues each");
        Thread.sleep(1500); // the subscription of the last heartbeat is in force
        for (int i = 0; i < 8; i++) {
            producer.send(new Message("Article", i < 4 ? "tagA" : "tagB", bytes("MsgStr" + i)),
                new MessageQueue("Article", result(producer), i % 4));
        }
        until(() -> a.size() + b.size() == 2, () -> bodies(a) + " " + bodies(b));
        Thread.sleep(300);
        that(a.size() + b.size() == 2 && (a.isEmpty() || b.isEmpty()), bodies(a) + " " + bodies(b));
        second.shutdown();
        first.shutdown();
        producer.shutdown();
    }

    static String result(DefaultMQProducer producer) throws Exception {
        return producer.fetchPublishMessageQueues("Article").get(0).getBrokerName();
    }

    /** Reads every message of a topic, from its first to its last offset, and prints it. */
    static void dump(String topic) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("DumpG" + NUMBER.incrementAndGet(), hook());
        quick(consumer, "dump");
        consumer.start();
        List<MessageQueue> queues = new ArrayList<>(consumer.fetchSubscribeMessageQueues(topic));
        Collections.sort(queues);
        for (MessageQueue queue : queues) {
            long offset = consumer.minOffset(queue);
            long end = consumer.maxOffset(queue);
            while (offset < end) {
                PullResult pulled = consumer.pull(queue, "*", offset, 32);
                that(pulled.getNextBeginOffset() > offset, queue + " " + offset + " " + pulled);
                if (pulled.getPullStatus() == PullStatus.FOUND) {
                    for (MessageExt message : pulled.getMsgFoundList()) {
                        OUT.println("message " + topic + " " + queue.getQueueId() + " " + message.getQueueOffset() + " "
                            + message.getMsgId() + " " + text(message));
                    }
                }
                offset = pulled.getNextBeginOffset();
            }
        }
        consumer.shutdown();
    }

    /** Sends COUNT messages of about SIZE bytes: "produce:TOPIC:COUNT:SIZE". */
    static void produce(String topic, int count, int size) throws Exception {
        DefaultMQProducer producer = producer(false);
        create(producer, topic, 2);
        char[] filling = new char[size];
        Arrays.fill(filling, 'x');
        for (int i = 0; i < count; i++) {
            SendResult result = producer.send(new Message(topic, "t" + i % 3, "key" + i, bytes(i + ":" + new String(filling))));
            OUT.println("sent " + topic + " " + result.getMessageQueue().getQueueId() + " " + result.getQueueOffset() + " "
                + result.getMsgId());
        }
        producer.shutdown();
    }

    /** A producer that waits for its consumers' answers; 5.3.3's stops waiting as soon as the question is sent. */
    static void request() throws Exception {
        DefaultMQProducer producer = producer(false);
        create(producer, "Request", 2);
        DefaultMQProducer replying = producer(false);
        DefaultMQPushConsumer consumer = push("RequestG", "Request", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                if (text(message).equals("silence")) {
                    continue;
                }
                try {
                    Message reply = MessageUtil.createReplyMessage(message, bytes("re: " + text(message)));
                    SendResult result = replying.send(reply, 3000);
                    that(result.getSendStatus() == SendStatus.SEND_OK, result);
                } catch (Exception error) {
                    error.printStackTrace();
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        for (int i = 0; i < 3; i++) {
            Message answer = producer.request(new Message("Request", bytes("question " + i)), 10_000);
            that(new String(answer.getBody(), StandardCharsets.UTF_8).equals("re: question " + i), answer);
            that(answer.getProperty("PUSH_REPLY_TIME") != null && answer.getProperty("ARRIVE_TIME") != null, answer);
        }
        try {
            producer.request(new Message("Request", bytes("silence")), 500);
            that(false, "an answer to silence");
        } catch (Exception expected) {
            that(expected.getClass().getSimpleName().equals("RequestTimeoutException"), expected);
        }
        consumer.shutdown();
        replying.shutdown();
        producer.shutdown();
    }

    static Check named(String name) {
        String[] parts = name.split(":");
        switch (parts[0]) {
            case "sends": return Interop::sends;
            case "vip": return Interop::vip;
            case "delay": return Interop::delay;
            case "ordered": return Interop::ordered;
            case "transaction": return Interop::transaction;
            case "lite": return Interop::lite;
            case "sql": return Interop::sql;
            case "retry": return Interop::retry;
            case "broadcast": return Interop::broadcast;
            case "trace": return Interop::trace;
            case "request": return Interop::request;
            case "article": return Interop::article;
            case "dump": return () -> dump(parts[1]);
            case "produce": return () -> produce(parts[1], Integer.parseInt(parts[2]), Integer.parseInt(parts[3]));
            default: throw new IllegalArgumentException("no check " + name);
        }
    }

    public static void main(String[] arguments) throws Exception {
        namesrv = arguments[0];
        List<Thread> threads = new ArrayList<>();
        for (String name : Arrays.asList(arguments).subList(1, arguments.length)) {
            Check check = named(name);
            Thread thread = new Thread(() -> {
                try {
                    check.run();
                    OUT.println("ok " + name);
                } catch (Throwable error) {
                    OUT.println("failed " + name + ": " + error);
                    error.printStackTrace();
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        OUT.flush();
        System.exit(0);
    }
}
