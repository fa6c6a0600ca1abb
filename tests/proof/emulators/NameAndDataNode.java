import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS in one process, for trials: its folder and the port of the name node are given, and it has a folder of root alone. */
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
        Path closed = new Path("/closed");
        cluster.getFileSystem().mkdirs(new Path(closed, "broker-a/store/commitlog"));
        cluster.getFileSystem().setPermission(closed, new FsPermission("700"));
        System.out.println("ready");
        System.in.read();
        cluster.shutdown();
    }
}
