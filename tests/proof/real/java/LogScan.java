import com.sun.management.OperatingSystemMXBean;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;

/** Reads commit log files with the real decoder, bodies left out, into arrays of eight columns; answers on a pipe. */
public class LogScan {
    private static final int MAGIC = -626843481;

    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream out = new DataOutputStream(System.out);
        // The collector works in a thread of its own, and its work counts.
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        while (in.read() == 'S') {
            byte[] name = new byte[in.readInt()];
            in.readFully(name);
            File[] files = new File(new String(name, "UTF-8")).listFiles();
            Arrays.sort(files);
            long count = 0;
            long check = 0;
            long cpu = system.getProcessCpuTime();
            long wall = System.nanoTime();
            for (File file : files) {
                try (FileChannel channel = FileChannel.open(file.toPath())) {
                    ByteBuffer data = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
                    int most = data.capacity() / 200 + 1;
                    String[] topics = new String[most];
                    String[] tags = new String[most];
                    String[] keys = new String[most];
                    int[] queues = new int[most];
                    int[] lengths = new int[most];
                    long[] queueOffsets = new long[most];
                    long[] places = new long[most];
                    long[] times = new long[most];
                    int rows = 0;
                    int at = 0;
                    while (at + 8 <= data.capacity() && data.getInt(at + 4) == MAGIC) {
                        int size = data.getInt(at);
                        data.limit(at + size);
                        data.position(at);
                        MessageExt message = MessageDecoder.decode(data, false);
                        topics[rows] = message.getTopic();
                        tags[rows] = message.getTags();
                        keys[rows] = message.getKeys();
                        queues[rows] = message.getQueueId();
                        lengths[rows] = data.getInt(at + 84);
                        queueOffsets[rows] = message.getQueueOffset();
                        places[rows] = message.getCommitLogOffset();
                        times[rows] = message.getStoreTimestamp();
                        rows++;
                        data.limit(data.capacity());
                        at += size;
                    }
                    for (int row = 0; row < rows; row++) {
                        check += queueOffsets[row] + (tags[row] == null ? 0 : tags[row].length());
                    }
                    count += rows;
                }
            }
            out.writeLong(count);
            out.writeLong(check);
            out.writeLong(system.getProcessCpuTime() - cpu);
            out.writeLong(System.nanoTime() - wall);
            out.flush();
        }
    }
}
