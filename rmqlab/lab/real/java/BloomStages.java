import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Map;
import org.apache.rocketmq.broker.filter.CommitLogDispatcherCalcBitMap;
import org.apache.rocketmq.broker.filter.ConsumerFilterManager;
import org.apache.rocketmq.broker.filter.ExpressionMessageFilter;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.filter.FilterAPI;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.filter.util.BloomFilter;
import org.apache.rocketmq.store.ConsumeQueueExt;
import org.apache.rocketmq.store.DispatchRequest;

/**
 * Times the stages of filtering in the real broker's classes. A job on standard input is: error rate, expected groups,
 * warm-up rounds, rounds (ints); topic; number of groups, then name and expression of each; number of records, then the
 * records as the commit log has them. Texts and records are a length and bytes.
 *
 * The answer: pairs of message and group that match, pairs that layer 1 lets pass (longs), then for each round CPU ns of
 * the thread for: decode the properties of each record once; compute its bitmap from decoded properties; write its
 * unit; read the unit for each group; check its bits for each group; layer 2 for each group (all records); layer 2 for
 * the pairs that layer 1 lets pass.
 */
public final class BloomStages {
    private static final int STAGES = 7;
    private static final int EXT_FILE = 8 * 1024 * 1024;

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        System.setOut(System.err);
        while (true) {
            int errorRate;
            try {
                errorRate = in.readInt();
            } catch (EOFException end) {
                return;
            }
            job(errorRate, in, out);
            out.flush();
        }
    }

    private static void job(int errorRate, DataInputStream in, DataOutputStream out) throws Exception {
        int expected = in.readInt();
        int warmUp = in.readInt();
        int rounds = in.readInt();
        String topic = text(in);
        ConsumerFilterManager manager = new ConsumerFilterManager();
        Field bloom = ConsumerFilterManager.class.getDeclaredField("bloomFilter");
        bloom.setAccessible(true);
        bloom.set(manager, BloomFilter.createByFn(errorRate, expected));
        ExpressionMessageFilter[] filters = new ExpressionMessageFilter[in.readInt()];
        for (int i = 0; i < filters.length; i++) {
            String group = text(in);
            String expression = text(in);
            manager.register(topic, group, expression, "SQL92", 1);
            filters[i] = new ExpressionMessageFilter(
                FilterAPI.build(topic, expression, "SQL92"), manager.get(topic, group), manager);
        }
        ByteBuffer[] records = new ByteBuffer[in.readInt()];
        for (int i = 0; i < records.length; i++) {
            records[i] = ByteBuffer.wrap(bytes(in));
        }
        BrokerConfig config = new BrokerConfig();
        config.setEnableCalcFilterBitMap(true);
        CommitLogDispatcherCalcBitMap dispatcher = new CommitLogDispatcherCalcBitMap(config, manager);
        long[] counts = new long[2];
        long[][] times = new long[rounds][];
        for (int round = 0; round < warmUp + rounds; round++) {
            long[] spent = round(topic, dispatcher, filters, records, counts, manager.getBloomFilter().getM());
            if (round >= warmUp) {
                times[round - warmUp] = spent;
            }
        }
        out.writeLong(counts[0]);
        out.writeLong(counts[1]);
        for (long[] spent : times) {
            for (long one : spent) {
                out.writeLong(one);
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static long[] round(String topic, CommitLogDispatcherCalcBitMap dispatcher,
        ExpressionMessageFilter[] filters, ByteBuffer[] records, long[] counts, int bits) throws IOException {
        int number = records.length;
        long stored = System.currentTimeMillis() + 1000;
        Map<String, String>[] properties = new Map[number];
        DispatchRequest[] requests = new DispatchRequest[number];
        ConsumeQueueExt.CqExtUnit[] units = new ConsumeQueueExt.CqExtUnit[number];
        long[] addresses = new long[number];
        boolean[][] passed = new boolean[filters.length][number];
        long[] spent = new long[STAGES];
        File folder = Files.createTempDirectory("bloom-stages").toFile();
        ConsumeQueueExt ext = new ConsumeQueueExt(topic, 0, folder.getPath(), EXT_FILE, bits);
        try {
            // The first unit makes the file, which is no cost of a message.
            ext.put(new ConsumeQueueExt.CqExtUnit(0L, stored, new byte[bits / 8]));
            long begin = cpu();
            for (int i = 0; i < number; i++) {
                properties[i] = MessageDecoder.decodeProperties(records[i]);
            }
            spent[0] = cpu() - begin;
            for (int i = 0; i < number; i++) {
                requests[i] = new DispatchRequest(topic, 0, 0, 0, 0, stored, i, "", "", 0, 0, properties[i]);
            }
            begin = cpu();
            for (int i = 0; i < number; i++) {
                dispatcher.dispatch(requests[i]);
            }
            spent[1] = cpu() - begin;
            begin = cpu();
            for (int i = 0; i < number; i++) {
                addresses[i] = ext.put(new ConsumeQueueExt.CqExtUnit(0L, stored, requests[i].getBitMap()));
            }
            spent[2] = cpu() - begin;
            long matched = 0;
            long passes = 0;
            for (int g = 0; g < filters.length; g++) {
                begin = cpu();
                for (int i = 0; i < number; i++) {
                    ConsumeQueueExt.CqExtUnit unit = new ConsumeQueueExt.CqExtUnit();
                    ext.get(addresses[i], unit);
                    units[i] = unit;
                }
                spent[3] += cpu() - begin;
                begin = cpu();
                for (int i = 0; i < number; i++) {
                    passed[g][i] = filters[g].isMatchedByConsumeQueue(0L, units[i]);
                }
                spent[4] += cpu() - begin;
                begin = cpu();
                for (int i = 0; i < number; i++) {
                    matched += filters[g].isMatchedByCommitLog(records[i], null) ? 1 : 0;
                }
                spent[5] += cpu() - begin;
                begin = cpu();
                for (int i = 0; i < number; i++) {
                    if (passed[g][i]) {
                        passes++;
                        filters[g].isMatchedByCommitLog(records[i], null);
                    }
                }
                spent[6] += cpu() - begin;
            }
            counts[0] = matched;
            counts[1] = passes;
        } finally {
            ext.destroy();
            delete(folder);
        }
        return spent;
    }

    private static long cpu() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static void delete(File file) {
        File[] inside = file.listFiles();
        for (File one : inside == null ? new File[0] : inside) {
            delete(one);
        }
        file.delete();
    }

    private static String text(DataInputStream in) throws IOException {
        return new String(bytes(in), StandardCharsets.UTF_8);
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        byte[] read = new byte[in.readInt()];
        in.readFully(read);
        return read;
    }
}
