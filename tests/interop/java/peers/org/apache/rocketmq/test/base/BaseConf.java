package org.apache.rocketmq.test.base;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.test.client.rmq.RMQAsyncSendProducer;
import org.apache.rocketmq.test.client.rmq.RMQNormalConsumer;
import org.apache.rocketmq.test.client.rmq.RMQNormalProducer;
import org.apache.rocketmq.test.client.rmq.RMQTransactionalProducer;
import org.apache.rocketmq.test.clientinterface.AbstractMQConsumer;
import org.apache.rocketmq.test.clientinterface.AbstractMQProducer;
import org.apache.rocketmq.test.factory.ConsumerFactory;
import org.apache.rocketmq.test.listener.AbstractListener;
import org.apache.rocketmq.test.util.MQAdmin;
import org.apache.rocketmq.test.util.MQRandomUtils;

/** What RocketMQ's integration tests stand on, written anew: a cluster that runs elsewhere, at -Dpeers.namesrv. */
public class BaseConf {
    public static final String nsAddr = System.getProperty("peers.namesrv");
    protected static final String clusterName = "DefaultCluster";
    protected static final String broker1Name = System.getProperty("peers.broker1");
    protected static final String broker2Name = System.getProperty("peers.broker2");
    protected static final int brokerNum = 2;
    protected static int waitTime = 5;
    protected static int consumeTime = 2 * 60 * 1000;
    protected static boolean debug = false;
    protected static final List<Object> mqClients = new ArrayList<>();
    private static final long TOPIC_MILLIS = 20_000;
    private static final int QUEUES = 8;

    public static String initTopic() {
        String topic = MQRandomUtils.getRandomTopic();
        long end = System.currentTimeMillis() + TOPIC_MILLIS;
        while (!MQAdmin.createTopic(nsAddr, clusterName, topic, QUEUES)) {
            if (System.currentTimeMillis() > end) throw new AssertionError("topic " + topic + " was not created");
        }
        return topic;
    }

    public static String initConsumerGroup() {
        return initConsumerGroup(MQRandomUtils.getRandomConsumerGroup());
    }

    public static String initConsumerGroup(String group) {
        MQAdmin.createSub(nsAddr, clusterName, group);
        return group;
    }

    private static <T> T kept(T client) {
        mqClients.add(client);
        return client;
    }

    public static RMQNormalProducer getProducer(String nsAddr, String topic) {
        return getProducer(nsAddr, topic, false);
    }

    public static RMQNormalProducer getProducer(String nsAddr, String topic, boolean tls) {
        return kept(new RMQNormalProducer(nsAddr, topic, tls));
    }

    public static RMQNormalProducer getProducer(String nsAddr, String topic, String group, String instance) {
        return kept(new RMQNormalProducer(nsAddr, topic, group, instance));
    }

    public static RMQTransactionalProducer getTransactionalProducer(String nsAddr, String topic, TransactionListener listener) {
        return kept(new RMQTransactionalProducer(nsAddr, topic, false, listener));
    }

    public static RMQAsyncSendProducer getAsyncProducer(String nsAddr, String topic) {
        return kept(new RMQAsyncSendProducer(nsAddr, topic));
    }

    public static RMQNormalConsumer getConsumer(String nsAddr, String topic, String expression, AbstractListener listener) {
        return getConsumer(nsAddr, topic, expression, listener, false);
    }

    public static RMQNormalConsumer getConsumer(
            String nsAddr, String topic, String expression, AbstractListener listener, boolean tls) {
        return getConsumer(nsAddr, initConsumerGroup(), topic, expression, listener, tls);
    }

    public static RMQNormalConsumer getConsumer(
            String nsAddr, String group, String topic, String expression, AbstractListener listener) {
        return getConsumer(nsAddr, group, topic, expression, listener, false);
    }

    public static RMQNormalConsumer getConsumer(
            String nsAddr, String group, String topic, String expression, AbstractListener listener, boolean tls) {
        return kept(ConsumerFactory.getRMQNormalConsumer(nsAddr, group, topic, expression, listener, tls));
    }

    /** Every client of the test goes, whatever another one says of it. */
    public static void shutdown() {
        for (Object client : mqClients) {
            try {
                if (client instanceof AbstractMQProducer) ((AbstractMQProducer) client).shutdown();
                else ((AbstractMQConsumer) client).shutdown();
            } catch (RuntimeException e) {
                e.printStackTrace();
            }
        }
        mqClients.clear();
    }
}
