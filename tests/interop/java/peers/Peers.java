import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/** Runs the classes named, one after the other, and prints a line for each test: PASS, FAIL or IGNORED, name, ms, why. */
public class Peers {
    public static void main(String[] names) throws Exception {
        JUnitCore core = new JUnitCore();
        core.addListener(new RunListener() {
            private long began;
            private Failure failure;

            @Override
            public void testStarted(Description test) {
                began = System.currentTimeMillis();
                failure = null;
            }

            @Override
            public void testFailure(Failure it) {
                failure = it;
                if (!it.getDescription().isTest()) say("FAIL", it.getDescription(), it);
            }

            @Override
            public void testAssumptionFailure(Failure it) {
                failure = it;
            }

            @Override
            public void testFinished(Description test) {
                say(failure == null ? "PASS" : "FAIL", test, failure);
            }

            @Override
            public void testIgnored(Description test) {
                began = System.currentTimeMillis();
                say("IGNORED", test, null);
            }

            private void say(String how, Description test, Failure why) {
                String text = why == null ? "" : " " + why.getException().toString().replaceAll("\\s+", " ");
                long ms = System.currentTimeMillis() - began;
                System.out.println("RESULT " + how + " " + test.getClassName() + "#" + test.getMethodName() + " " + ms + text);
            }
        });
        boolean good = true;
        for (String name : names) good &= core.run(Class.forName(name)).wasSuccessful();
        System.out.flush();
        System.exit(good ? 0 : 1);
    }
}
