// Makes properties_load.jsonl: what java.util.Properties reads from texts, some written by hand, most drawn by chance.
// java data/java/PropertiesLoad.java > data/java/properties_load.jsonl   (OpenJDK 17; the same bytes every time)

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;

public class PropertiesLoad {
    static final String[] WRITTEN = {
        "", "\n", "a=1", "a=1\nb=2\n", "a=1\na=2\n", "a = b = c \n", "a:1\n", "a 1\n", "a\t1\n", "a\f1\n", "a : = 1\n", "a\n", "=1\n", ":1\n",
        "# c\n! d\n  # e\n\t! f\na=1\n", "a#b=c#d\n", "a=1\\\n  2\n", "a=1\\\n# 2\n", "a\\\n=1\n", "filterSupportRetry\\\n=true\n", "a=1\\\n\nb=2\n",
        "\\\n\n# c\na=1\n", "\\\n# c\n", "\\\n", "\\", "a=\\", "a\\", "a=1\\\\\nb=2\n", "a=1\\\\\\\nb=2\n", "# c\\\na=1\n", "a\\=b=1\n", "a\\:b:1\n", "a\\ b 1\n",
        "a=\\t\\n\\r\\f\\b\\q\\\"\\'\n", "a=\\u4e2d\\u0020|\n", "\\u0061=1\n", "a=\\u00\n", "a=\\u12g4\n", "a=\\u\n", "\\u00=1\n", "a=\\U0041\n", "a=1\rb=2\r\nc=3\n\rd=4",
        "a=1\\\r\n  2\n", "a=1\\\r  2\n", "a=1  \n", "a  \n", "  a  =  1  \n", "\u00e9=\u00fc\n", "a\u00a0b=1\n", "a\u0085b=1\n", "a\u000bb=1\n", "\u001ca=1\n",
        "a=\\ b\n", "a\\\\=1\n", "a==1\n", "a=:1\n", "a:=1\n", "a = :1\n", "a=\n", "a=\\\n", "a=\\\n\\\n1\n", "a=1\\\n\\\n\n2\n", "!a=1", "\\#a=1\n", "\\!a=1\n", "a=1\n#",
        "C:\\store=1\n", "storePathRootDir=C:\\\\store\\\\a\n", "a=1\\\n\t\f b=2\n", "\f\t a=1\n", "a\\\nb\\\nc=\\\nd\\\ne\n",
    };
    static final String LETTERS = "ab=: \t\f\n\n\r\\\\\\#!u041\u00e9\u00a0\u000b";

    public static void main(String[] args) {
        StringBuilder all = new StringBuilder();
        for (String text : WRITTEN) {
            all.append(line(text));
        }
        Random random = new Random(480);
        for (int number = 0; number < 2000; number++) {
            StringBuilder text = new StringBuilder();
            for (int length = 1 + random.nextInt(24); length > 0; length--) {
                text.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
            }
            all.append(line(text.toString()));
        }
        System.out.print(all);
    }

    static String line(String text) {
        Properties properties = new Properties();
        try {
            properties.load(new ByteArrayInputStream(text.getBytes(StandardCharsets.ISO_8859_1)));
        } catch (Exception error) {
            return "{\"text\": " + json(text) + ", \"error\": " + json(error.getClass().getSimpleName()) + "}\n";
        }
        StringBuilder found = new StringBuilder();
        for (Object name : new TreeMap<>(properties).keySet()) {
            found.append(found.length() == 0 ? "" : ", ").append(json((String) name)).append(": ").append(json(properties.getProperty((String) name)));
        }
        return "{\"text\": " + json(text) + ", \"properties\": {" + found + "}}\n";
    }

    static String json(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char unit : text.toCharArray()) {
            out.append(unit < 0x20 || unit > 0x7e || unit == '"' || unit == '\\' ? String.format("\\u%04x", (int) unit) : String.valueOf(unit));
        }
        return out.append('"').toString();
    }
}
