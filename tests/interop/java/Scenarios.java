import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import com.alibaba.fastjson.parser.Feature;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.io.*;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import org.apache.rocketmq.client.consumer.*;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.consumer.rebalance.*;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.admin.OffsetWrapper;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.*;
import org.apache.rocketmq.common.protocol.heartbeat.MessageModel;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Real clients through timed scenarios (the format of data/golden, scenarios.jsonl), side by side.
 * Arguments: file of scenarios, folder for the events (a file each), the clients' name server, the observer's name
 * server, the port that cuts and freezes connections. The events are those of the recordings.
 */
public class Scenarios {
    static String namesrv;
    static int control;
    static DefaultMQAdminExt admin;

    final JSONObject scenario;
    final String id;
    final PrintWriter events;
    final long began = System.currentTimeMillis();
    final Map<String, DefaultMQPushConsumer> pushing = new LinkedHashMap<>();
    final Map<String, DefaultLitePullConsumer> polling = new ConcurrentHashMap<>();
    final Set<String> groups = new TreeSet<>();
    volatile boolean over;

    Scenarios(JSONObject scenario, Path folder) throws IOException {
        this.scenario = scenario;
        this.id = scenario.getString("id");
        this.events = new PrintWriter(Files.newBufferedWriter(folder.resolve(id + ".jsonl")));
    }

    synchronized void tell(String kind, Object... pairs) {
        JSONObject event = new JSONObject(true);
        event.put("id", id);
        event.put("t", System.currentTimeMillis() - began);
        event.put("ev", kind);
        for (int i = 0; i < pairs.length; i += 2) {
            event.put((String) pairs[i], pairs[i + 1]);
        }
        events.println(JSON.toJSONString(event, SerializerFeature.WriteMapNullValue));
        events.flush();
    }

    String full(String name) {
        return name + "_" + id;
    }

    String brief(String name) {
        return name.replace("_" + id, "");
    }

    static MessageSelector selector(JSONObject asked) {
        String expression = asked.getString("expr");
        return "SQL92".equals(asked.getString("type")) ? MessageSelector.bySql(expression)
            : MessageSelector.byTag(expression);
    }

    void consumed(String who, MessageExt message) {
        tell("consume", "who", who, "topic", brief(message.getTopic()), "tag", message.getTags(), "queue",
            message.getQueueId(), "offset", message.getQueueOffset(), "body",
            new String(message.getBody(), StandardCharsets.UTF_8), "reconsume", message.getReconsumeTimes(), "msgId",
            message.getMsgId());
    }

    void start(JSONObject step) throws Exception {
        String who = step.getString("who");
        JSONObject subscribe = step.getJSONObject("subscribe");
        if ("lite".equals(step.getString("kind"))) {
            poll(step, who, subscribe);
            return;
        }
        String group = full(step.getString("group"));
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group, step.getBooleanValue("trace"));
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName(full(who));
        consumer.setConsumeThreadMin(1);
        consumer.setConsumeThreadMax(1);
        consumer.setPostSubscriptionWhenPull(step.getBooleanValue("post"));
        if ("broadcasting".equals(step.getString("mode"))) {
            consumer.setMessageModel(MessageModel.BROADCASTING);
        }
        if ("first".equals(step.getString("from"))) {
            consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        }
        if ("circle".equals(step.getString("strategy"))) {
            consumer.setAllocateMessageQueueStrategy(new AllocateMessageQueueAveragelyByCircle());
        } else if ("hash".equals(step.getString("strategy"))) {
            consumer.setAllocateMessageQueueStrategy(new AllocateMessageQueueConsistentHash());
        }
        for (String topic : subscribe.keySet()) {
            consumer.subscribe(full(topic), selector(subscribe.getJSONObject(topic)));
        }
        int later = step.getIntValue("laterTimes");
        Map<String, Integer> seen = new ConcurrentHashMap<>();
        if (step.getBooleanValue("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                messages.forEach(message -> consumed(who, message));
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                boolean again = false;
                for (MessageExt message : messages) {
                    consumed(who, message);
                    again |= seen.merge(new String(message.getBody(), StandardCharsets.UTF_8), 1, Integer::sum) <= later;
                }
                return again ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        tell("starting", "who", who);
        try {
            consumer.start();
            pushing.put(who, consumer);
            String client = consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId();
            tell("started", "who", who, "clientId", client);
        } catch (Exception error) {
            tell("startFailed", "who", who, "error", error.getClass().getSimpleName(), "message", firstLine(error));
        }
    }

    void poll(JSONObject step, String who, JSONObject subscribe) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(full(step.getString("group")));
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName(full(who));
        consumer.setPullThreadNums(2);
        for (String topic : subscribe.keySet()) {
            consumer.subscribe(full(topic), selector(subscribe.getJSONObject(topic)));
        }
        tell("starting", "who", who, "kind", "lite");
        consumer.start();
        polling.put(who, consumer);
        tell("started", "who", who);
        Thread thread = new Thread(() -> {
            try {
                while (!over) {
                    consumer.poll(300).forEach(message -> consumed(who, message));
                }
            } catch (IllegalStateException stopped) {
                // the consumer was shut down while it waited
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    void send(DefaultMQProducer producer, JSONObject step) throws Exception {
        int number = 0;
        String topic = full(step.getString("topic"));
        for (Object one : step.getJSONArray("messages")) {
            JSONObject asked = (JSONObject) one;
            String body = asked.getString("body"), tag = asked.getString("tag");
            Message message = new Message(topic, tag, asked.getString("keys"), body.getBytes(StandardCharsets.UTF_8));
            JSONObject properties = asked.getJSONObject("props");
            for (String name : properties == null ? Set.<String>of() : properties.keySet()) {
                message.putUserProperty(name, properties.getString(name));
            }
            SendResult result = asked.containsKey("queue")
                ? producer.send(message, new MessageQueue(topic, "broker-a", asked.getIntValue("queue")))
                : producer.send(message);
            tell("sent", "i", number++, "tag", tag, "body", body, "queue", result.getMessageQueue().getQueueId(),
                "offset", result.getQueueOffset(), "msgId", result.getMsgId(), "offsetMsgId", result.getOffsetMsgId());
        }
    }

    void alloc() {
        pushing.forEach((who, consumer) -> {
            Map<String, List<Integer>> held = new TreeMap<>();
            for (MessageQueue queue : consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl()
                .getProcessQueueTable().keySet()) {
                held.computeIfAbsent(brief(queue.getTopic()), key -> new ArrayList<>()).add(queue.getQueueId());
            }
            held.values().forEach(Collections::sort);
            tell("alloc", "who", who, "queues", held);
        });
    }

    void offsets() throws Exception {
        JSONObject topics = scenario.getJSONObject("topics");
        for (String group : groups) {
            for (String topic : topics.keySet()) {
                for (int number = 0; number < topics.getIntValue(topic); number++) {
                    MessageQueue queue = new MessageQueue(full(topic), "broker-a", number);
                    Object committed;
                    try {
                        OffsetWrapper told = (OffsetWrapper) admin.examineConsumeStats(full(group), full(topic))
                            .getOffsetTable().get(queue);
                        committed = told == null ? null : told.getConsumerOffset();
                    } catch (Exception error) {
                        committed = error.getClass().getSimpleName();
                    }
                    tell("offset", "group", group, "topic", topic, "queue", number, "committed", committed, "max",
                        admin.maxOffset(queue));
                }
            }
        }
    }

    void breakConnections(String how, String who) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", control)) {
            socket.getOutputStream().write((how + " @" + full(who) + "\n").getBytes(StandardCharsets.UTF_8));
            String told = new BufferedReader(new InputStreamReader(socket.getInputStream())).readLine();
            tell("control", "line", how + " @" + who, "conns", told);
        }
    }

    void step(DefaultMQProducer producer, JSONObject step) throws Exception {
        String who = step.getString("who"), kind = step.getString("do");
        switch (kind) {
            case "start" -> start(step);
            case "stop" -> {
                tell("stopping", "who", who);
                pushing.remove(who).shutdown();
                tell("stopped", "who", who);
            }
            case "subscribe" -> {
                pushing.get(who).subscribe(full(step.getString("topic")), selector(step));
                tell("subscribed", "who", who, "expr", step.getString("expr"));
            }
            case "cut", "freeze" -> breakConnections(kind, who);
            case "alloc" -> alloc();
            case "send" -> send(producer, step);
            case "offsets" -> offsets();
            default -> throw new IllegalArgumentException(kind);
        }
    }

    void run() throws Exception {
        tell("scenario", "scenario", scenario, "epochMs", began);
        DefaultMQProducer producer = new DefaultMQProducer("PROD_" + id, scenario.getBooleanValue("trace"));
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName("P_" + id);
        producer.start();
        JSONObject topics = scenario.getJSONObject("topics");
        for (String topic : topics.keySet()) {
            producer.createTopic("TBW102", full(topic), topics.getIntValue(topic));
        }
        Thread.sleep(2500);
        for (Object one : scenario.getJSONArray("steps")) {
            if ("start".equals(((JSONObject) one).getString("do"))) {
                groups.add(((JSONObject) one).getString("group"));
            }
        }
        long base = System.currentTimeMillis();
        for (Object one : scenario.getJSONArray("steps")) {
            JSONObject step = (JSONObject) one;
            Thread.sleep(Math.max(0, base + step.getLongValue("at") - System.currentTimeMillis()));
            try {
                step(producer, step);
            } catch (Exception error) {
                tell("error", "do", step.getString("do"), "error", error.getClass().getSimpleName(), "message",
                    firstLine(error));
            }
        }
        over = true;
        pushing.values().forEach(DefaultMQPushConsumer::shutdown);
        polling.values().forEach(DefaultLitePullConsumer::shutdown);
        producer.shutdown();
        events.close();
    }

    static String firstLine(Exception error) {
        return String.valueOf(error.getMessage()).split("\n")[0];
    }

    public static void main(String[] arguments) throws Exception {
        List<String> lines = Files.readAllLines(Path.of(arguments[0]));
        Path folder = Files.createDirectories(Path.of(arguments[1]));
        namesrv = arguments[2];
        control = Integer.parseInt(arguments[4]);
        admin = new DefaultMQAdminExt();
        admin.setNamesrvAddr(arguments[3]);
        admin.setInstanceName("observer");
        admin.start();
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<?>> running = new ArrayList<>();
        for (String line : lines) {
            if (!line.isBlank()) {
                Scenarios one = new Scenarios(JSON.parseObject(line, Feature.OrderedField), folder);
                running.add(threads.submit(() -> {
                    one.run();
                    return null;
                }));
                Thread.sleep(120);
            }
        }
        for (Future<?> one : running) {
            one.get();
        }
        System.exit(0);
    }
}
