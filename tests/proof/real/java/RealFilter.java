import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.broker.filter.ExpressionMessageFilter;
import org.apache.rocketmq.broker.filter.MessageEvaluationContext;
import org.apache.rocketmq.common.filter.FilterAPI;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.protocol.heartbeat.SubscriptionData;
import org.apache.rocketmq.filter.FilterFactory;
import org.apache.rocketmq.filter.expression.Expression;

/**
 * Asks the real filters. Commands come on standard input, each one byte; texts are a length and UTF-8 bytes.
 *
 * <pre>
 * L count, texts          load the properties of messages as the commit log has them       -> 1
 * V expression            compile                                                        -> 1 or 0, text
 * O expression            evaluate on every loaded message                                 -> count, one byte each
 * D expression, rounds    decode the properties and evaluate                               -> messages, matched, CPU ns
 * M expression, rounds    evaluate on properties that are decoded already                  -> messages, matched, CPU ns
 * C expression, rounds    compile, without the parser's cache                              -> rounds, 0, CPU ns
 * T subscription, rounds  match the tags codes of the loaded messages                      -> messages, matched, CPU ns
 * </pre>
 *
 * V tells whether it is accepted, and the tree as it prints itself, or what was thrown.
 * An outcome byte is 0 false, 1 true, 2 null, 3 something was thrown, 4 another value.
 */
public final class RealFilter {
    private static byte[][] encoded = {};
    private static List<Map<String, String>> decoded;
    private static long[] codes;

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        System.setOut(System.err);
        while (true) {
            int command;
            try {
                command = in.readByte();
            } catch (EOFException end) {
                return;
            }
            if (command == 'L') {
                load(in);
                out.writeByte(1);
            } else {
                answer(command, in, out);
            }
            out.flush();
        }
    }

    private static void load(DataInputStream in) throws IOException {
        encoded = new byte[in.readInt()][];
        for (int i = 0; i < encoded.length; i++) {
            encoded[i] = bytes(in);
        }
        decoded = null;
        codes = null;
    }

    private static void answer(int command, DataInputStream in, DataOutputStream out) throws Exception {
        String text = new String(bytes(in), StandardCharsets.UTF_8);
        if (command == 'V') {
            boolean accepted = true;
            String told;
            try {
                told = String.valueOf(FilterFactory.INSTANCE.get("SQL92").compile(text));
            } catch (Exception refusal) {
                accepted = false;
                told = String.valueOf(refusal.getMessage());
            }
            byte[] packed = told.getBytes(StandardCharsets.UTF_8);
            out.writeByte(accepted ? 1 : 0);
            out.writeInt(packed.length);
            out.write(packed);
            return;
        }
        if (command == 'O') {
            Expression expression = FilterFactory.INSTANCE.get("SQL92").compile(text);
            out.writeInt(encoded.length);
            for (byte[] one : encoded) {
                out.writeByte(outcome(expression, decode(one)));
            }
            return;
        }
        int rounds = in.readInt();
        if (command == 'M' && decoded == null) {
            decoded = new ArrayList<>(encoded.length);
            for (byte[] one : encoded) {
                decoded.add(decode(one));
            }
        }
        if (command == 'T' && codes == null) {
            codes = new long[encoded.length];
            for (int i = 0; i < codes.length; i++) {
                String tag = decode(encoded[i]).get("TAGS");
                codes[i] = tag == null ? 0 : tag.hashCode();
            }
        }
        long begin = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        long messages = 0;
        long matched = 0;
        switch (command) {
            case 'D': {
                Expression expression = FilterFactory.INSTANCE.get("SQL92").compile(text);
                for (int round = 0; round < rounds; round++) {
                    for (byte[] one : encoded) {
                        matched += outcome(expression, decode(one)) == 1 ? 1 : 0;
                    }
                    messages += encoded.length;
                }
                break;
            }
            case 'M': {
                Expression expression = FilterFactory.INSTANCE.get("SQL92").compile(text);
                for (int round = 0; round < rounds; round++) {
                    for (Map<String, String> one : decoded) {
                        matched += outcome(expression, one) == 1 ? 1 : 0;
                    }
                    messages += encoded.length;
                }
                break;
            }
            case 'C':
                for (int round = 0; round < rounds; round++) {
                    // The trailing comment makes every text new to the cache and leaves the tree as it is.
                    FilterFactory.INSTANCE.get("SQL92").compile(text + " --" + round + "\n");
                    messages++;
                }
                break;
            case 'T': {
                SubscriptionData subscription = FilterAPI.buildSubscriptionData("group", "topic", text);
                ExpressionMessageFilter filter = new ExpressionMessageFilter(subscription, null, null);
                for (int round = 0; round < rounds; round++) {
                    for (long code : codes) {
                        matched += filter.isMatchedByConsumeQueue(code, null) ? 1 : 0;
                    }
                    messages += codes.length;
                }
                break;
            }
            default:
                throw new IOException("no command " + command);
        }
        out.writeLong(messages);
        out.writeLong(matched);
        out.writeLong(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begin);
    }

    private static Map<String, String> decode(byte[] properties) {
        return MessageDecoder.string2messageProperties(new String(properties, StandardCharsets.UTF_8));
    }

    private static int outcome(Expression expression, Map<String, String> properties) {
        Object value;
        try {
            value = expression.evaluate(new MessageEvaluationContext(properties));
        } catch (Throwable thrown) {
            return 3;
        }
        if (value == null) {
            return 2;
        }
        return value instanceof Boolean ? ((Boolean) value ? 1 : 0) : 4;
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        byte[] read = new byte[in.readInt()];
        in.readFully(read);
        return read;
    }
}
