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
 * Times the stages of filtering in the real broker's classes. A request on standard input is: warm-up rounds, rounds,
 * number of workloads (ints), then of each: error rate, expected groups (ints); topic; number of groups, then name and
 * expression of each; number of records, then the records as the commit log has them. Texts and records are a length
 * and bytes. A round goes through all workloads once.
 *
 * The answer, for each workload: pairs of message and group that match, pairs that layer 1 lets pass (longs), then for
 * each round CPU ns of the thread for: decode the properties of each record once; compute its bitmap from decoded
 * properties; write its unit; read the unit for each group; check its bits for each group; layer 2 for each group (all
 * records); layer 2 for the pairs that layer 1 lets pass. The last two change places from round to round, for the second
 * one finds the records at hand.
 */
public final class BloomStages {
    private static final int STAGES = 7;
    private static final int EXT_FILE = 8 * 1024 * 1024;
    private static final BrokerConfig CONFIG = new BrokerConfig();

    private final String topic;
    private final CommitLogDispatcherCalcBitMap dispatcher;
    private final int bits;
    private final ExpressionMessageFilter[] filters;
    private final ByteBuffer[] records;
    private long matched;
    private long passes;

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        System.setOut(System.err);
        CONFIG.setEnableCalcFilterBitMap(true);
        while (true) {
            int warmUp;
            try {
                warmUp = in.readInt();
            } catch (EOFException end) {
                return;
            }
            answer(warmUp, in, out);
            out.flush();
        }
    }

    private static void answer(int warmUp, DataInputStream in, DataOutputStream out) throws Exception {
        int rounds = in.readInt();
        BloomStages[] every = new BloomStages[in.readInt()];
        for (int i = 0; i < every.length; i++) {
            every[i] = new BloomStages(in);
        }
        long[][][] times = new long[rounds][every.length][];
        for (int round = -warmUp; round < rounds; round++) {
            for (int i = 0; i < every.length; i++) {
                long[] spent = every[i].round(round % 2 != 0);
                if (round >= 0) {
                    times[round][i] = spent;
                }
            }
        }
        for (int i = 0; i < every.length; i++) {
            out.writeLong(every[i].matched);
            out.writeLong(every[i].passes);
            for (long[][] spent : times) {
                for (long one : spent[i]) {
                    out.writeLong(one);
                }
            }
        }
    }

    private BloomStages(DataInputStream in) throws Exception {
        int errorRate = in.readInt();
        int expected = in.readInt();
        topic = text(in);
        ConsumerFilterManager manager = new ConsumerFilterManager();
        Field bloom = ConsumerFilterManager.class.getDeclaredField("bloomFilter");
        bloom.setAccessible(true);
        bloom.set(manager, BloomFilter.createByFn(errorRate, expected));
        filters = new ExpressionMessageFilter[in.readInt()];
        for (int i = 0; i < filters.length; i++) {
            String group = text(in);
            String expression = text(in);
            manager.register(topic, group, expression, "SQL92", 1);
            filters[i] = new ExpressionMessageFilter(
                FilterAPI.build(topic, expression, "SQL92"), manager.get(topic, group), manager);
        }
        records = new ByteBuffer[in.readInt()];
        for (int i = 0; i < records.length; i++) {
            records[i] = ByteBuffer.wrap(bytes(in));
        }
        dispatcher = new CommitLogDispatcherCalcBitMap(CONFIG, manager);
        bits = manager.getBloomFilter().getM();
    }

    @SuppressWarnings("unchecked")
    private long[] round(boolean passedFirst) throws IOException {
        int number = records.length;
        long stored = System.currentTimeMillis() + 1000;
        Map<String, String>[] properties = new Map[number];
        DispatchRequest[] requests = new DispatchRequest[number];
        long[] addresses = new long[number];
        ConsumeQueueExt.CqExtUnit[][] units = new ConsumeQueueExt.CqExtUnit[filters.length][number];
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
            // The clock is read once a stage: for each group it would cost as much as a few checks.
            begin = cpu();
            for (int g = 0; g < filters.length; g++) {
                for (int i = 0; i < number; i++) {
                    ConsumeQueueExt.CqExtUnit unit = new ConsumeQueueExt.CqExtUnit();
                    ext.get(addresses[i], unit);
                    units[g][i] = unit;
                }
            }
            spent[3] = cpu() - begin;
            begin = cpu();
            for (int g = 0; g < filters.length; g++) {
                for (int i = 0; i < number; i++) {
                    passed[g][i] = filters[g].isMatchedByConsumeQueue(0L, units[g][i]);
                }
            }
            spent[4] = cpu() - begin;
            passes = 0;
            for (boolean[] mine : passed) {
                for (boolean one : mine) {
                    passes += one ? 1 : 0;
                }
            }
            if (passedFirst) {
                spent[6] = layerTwo(passed);
            }
            spent[5] = layerTwo(null);
            if (!passedFirst) {
                spent[6] = layerTwo(passed);
            }
        } finally {
            ext.destroy();
            delete(folder);
        }
        return spent;
    }

    /** Layer 2 for each group, of all records or of those that passed; CPU ns. */
    private long layerTwo(boolean[][] passed) {
        long found = 0;
        long begin = cpu();
        for (int g = 0; g < filters.length; g++) {
            for (int i = 0; i < records.length; i++) {
                if (passed == null || passed[g][i]) {
                    found += filters[g].isMatchedByCommitLog(records[i], null) ? 1 : 0;
                }
            }
        }
        long spent = cpu() - begin;
        matched = found;
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
