import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS in one process, for trials: its folder and the port of the name node are given. */
public class NameAndDataNode {
    public static void main(String[] arguments) throws IOException {
        Configuration settings = new Configuration();
        settings.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
        MiniDFSCluster cluster =
                new MiniDFSCluster.Builder(settings)
                        .numDataNodes(1)
                        .nameNodePort(Integer.parseInt(arguments[1]))
                        .build();
        cluster.waitActive();
        System.out.println("ready");
        System.in.read();
        cluster.shutdown();
    }
}
