import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import org.apache.rocketmq.broker.offset.ConsumerOffsetManager;

/** Lines "file TAB backup" in base64 ("-": none) in; what the jar of 4.8.0 makes of them out: does it start, and the table. */
public class ConfigLoad {
    static class Offsets extends ConsumerOffsetManager {
        private final String path;

        Offsets(String path) {
            this.path = path;
        }

        @Override
        public String configFilePath() {
            return path;
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "ascii"));
        Path folder = Files.createTempDirectory("config");
        Path file = folder.resolve("consumerOffset.json");
        for (String line; (line = lines.readLine()) != null;) {
            String[] texts = line.split("\t", -1);
            write(file, texts[0]);
            write(folder.resolve("consumerOffset.json.bak"), texts[1]);
            Offsets offsets = new Offsets(file.toString());
            boolean starts = offsets.load();
            System.out.println(starts + " " + offsets.getOffsetTable());
        }
        System.exit(0);
    }

    private static void write(Path path, String text) throws Exception {
        Files.deleteIfExists(path);
        if (!text.equals("-")) {
            Files.write(path, Base64.getDecoder().decode(text));
        }
    }
}
