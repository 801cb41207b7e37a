package headwater;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;

/**
 * Takes events out of the listener's queue, with all that Python asks about their plans, as one text. `PlanText` and `Answers` read a plan. Compiled in
 * the driver by Spark's own Janino, so only what that understands is used: no lambdas. It runs on the thread of the gateway that serves the collector.
 */
public class QueryFacts {
    private static final long SOON = 100000000L;
    private static final long LATER = 500000000L;
    private static final long LONGEST = 2000000000L;
    private final Map objects = new ConcurrentHashMap();
    private final HashSet wanted = new HashSet();
    private final HashSet commands = new HashSet();
    private final HashSet actions = new HashSet();
    private final HashSet examined = new HashSet();
    private final java.util.HashMap inner = new java.util.HashMap();
    private final HashSet iterated = new HashSet();
    private final Reflection reflection = new Reflection();
    private final Answers answers = new Answers(reflection);
    private LinkedBlockingQueue queue;
    private int most;
    private int mostNodes;
    private long serial;

    /** Names, separated by blanks: classes of events, classes of commands that write, actions and commands whose plan is wanted because the driver reads. The bounds: the size of a plan, as `PlanText` counts it, and nodes of an executed one. */
    public void configure(LinkedBlockingQueue events, String kinds, String writes, String reads, int mostItems, int mostExecuted) {
        queue = events;
        wanted.addAll(java.util.Arrays.asList(kinds.split(" ")));
        commands.addAll(java.util.Arrays.asList(writes.split(" ")));
        actions.addAll(java.util.Arrays.asList(reads.split(" ")));
        most = mostItems;
        mostNodes = mostExecuted;
    }

    /** The object behind a number that `take` returned, until `released` names it. */
    public Object object(String number) {
        return objects.get(number);
    }

    /**
     * Waits for events, at most two seconds: a token (a text) is returned at once, a query that writes a little after it began or ended, for others soon
     * follow; the end of another query a little later; its beginning alone is not returned early. For each event eight texts, each behind its length: its
     * class, number, answers, the class of its plan's root, the plan, its ExprIds, answers about the plan, and its executed plan.
     */
    public String take(String released) throws InterruptedException {
        if (released.length() > 0) {
            String[] numbers = released.split(" ");
            for (int i = 0; i < numbers.length; i++) {
                objects.remove(numbers[i]);
            }
        }
        ArrayList batch = new ArrayList();
        long end = System.nanoTime() + LONGEST;
        while (batch.size() < 200) {
            Object next = queue.poll(Math.max(0L, end - System.nanoTime()), TimeUnit.NANOSECONDS);
            if (next == null) {
                break;
            }
            if (next instanceof String) {
                batch.add(next);
                break;
            }
            if (wanted.contains(eventName(next.getClass()))) {
                batch.add(next);
                end = Math.min(end, System.nanoTime() + patience(next));
            }
        }
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < batch.size(); i++) {
            write(out, batch.get(i), i + 1 < batch.size() ? batch.get(i + 1) : null);
        }
        return out.toString();
    }

    /** The nanoseconds that an event may wait for others. */
    private long patience(Object event) {
        try {
            String kind = shortName(event.getClass());
            if (kind.equals("SparkListenerSQLExecutionStart")) {
                QueryExecution planned = SQLExecution.getQueryExecution(((Number) reflection.call(event, "executionId")).longValue());
                return planned != null && commands.contains(kind(planned.analyzed())) ? SOON : LONGEST;
            }
            if (kind.equals("SparkListenerSQLExecutionEnd")) {
                QueryExecution executed = (QueryExecution) reflection.call(event, "qe");
                return executed == null || commands.contains(kind(executed.analyzed())) ? SOON : LATER;
            }
        } catch (Throwable error) {
            return SOON;
        }
        return SOON;
    }

    private void write(StringBuilder out, Object event, Object following) {
        if (event instanceof String) {
            String[] token = {"", (String) event, "", "", "", "", "", ""};
            add(out, token);
            return;
        }
        String kind = shortName(event.getClass());
        String[] texts = {kind, "", "", "", "", "", "", ""};
        if (kind.equals("SparkListenerSQLExecutionStart")) {
            begun(texts, event, following != null && shortName(following.getClass()).equals("SparkListenerSQLExecutionEnd"));
        } else if (kind.equals("SparkListenerSQLExecutionEnd")) {
            ended(texts, event);
        }
        if (texts[1].length() == 0) {
            texts[1] = number(event);
        }
        add(out, texts);
    }

    private void begun(String[] texts, Object event, boolean over) {
        texts[2] = answers.of(event, "executionId description time rootExecutionId(toString)");
        try {
            long id = ((Number) reflection.call(event, "executionId")).longValue();
            Object root = reflection.call(event, "rootExecutionId");
            String description = String.valueOf(reflection.call(event, "description"));
            boolean streams = description.indexOf("\nrunId = ") >= 0;
            boolean within = root instanceof scala.Some && !((scala.Some) root).get().equals(new Long(id));
            if (within) {
                inner.put(new Long(id), streams ? Boolean.TRUE : Boolean.FALSE);
            }
            if (description.startsWith("toLocalIterator") || description.startsWith("foreach")) {
                iterated.add(new Long(id));
            }
            QueryExecution planned = over || (within && !streams) ? null : SQLExecution.getQueryExecution(id);
            if (planned != null) {
                texts[1] = number(event) + " " + number(planned);
                if (commands.contains(kind(planned.analyzed()))) {
                    read(texts, planned.analyzed());
                    examined.add(new Long(id));
                } else {
                    texts[3] = kind(planned.analyzed());
                }
            }
        } catch (Throwable error) {
            forget(texts);
        }
    }

    private void ended(String[] texts, Object event) {
        texts[2] = answers.of(event, "executionId time errorMessage(toString) executionName(toString)");
        try {
            Long id = new Long(((Number) reflection.call(event, "executionId")).longValue());
            boolean seen = examined.remove(id);
            Object within = inner.remove(id);
            boolean part = Boolean.FALSE.equals(within);
            boolean iterates = iterated.remove(id);
            QueryExecution executed = (QueryExecution) reflection.call(event, "qe");
            if (executed == null) {
                return;
            }
            String kind = kind(executed.analyzed());
            Object named = reflection.call(event, "executionName");
            boolean reads = named instanceof scala.Some && actions.contains(((scala.Some) named).get());
            texts[3] = kind;
            if (!part && !seen && (reads || iterates || actions.contains(kind) || commands.contains(kind))) {
                read(texts, executed.analyzed());
            }
            if (within != null || commands.contains(kind)) {
                texts[7] = executed(executed.executedPlan());
            }
        } catch (Throwable error) {
            forget(texts);
        }
    }

    /** Leaves it to Python to ask, and to see the same error. */
    private static void forget(String[] texts) {
        for (int i = 3; i < 8; i++) {
            texts[i] = "";
        }
    }

    private void read(String[] texts, LogicalPlan plan) {
        texts[3] = kind(plan);
        PlanText text = new PlanText(reflection, most);
        texts[4] = text.of(plan);
        texts[6] = answers.ofPlan(plan, text);
        texts[5] = text.ids();
    }

    private String number(Object object) {
        String number = String.valueOf(++serial);
        objects.put(number, object);
        return number;
    }

    /** Returns the count of nodes, then kind, output, metrics and scan of each scan and write of an executed plan without hidden parts. */
    public String executed(SparkPlan root) {
        StringBuilder facts = new StringBuilder();
        ArrayList waiting = new ArrayList();
        waiting.add(root);
        int count = 0;
        while (!waiting.isEmpty()) {
            SparkPlan node = (SparkPlan) waiting.remove(waiting.size() - 1);
            count++;
            String name = node.nodeName();
            if (node instanceof AdaptiveSparkPlanExec) {
                waiting.add(((AdaptiveSparkPlanExec) node).executedPlan());
                continue;
            }
            if (node instanceof QueryStageExec) {
                waiting.add(((QueryStageExec) node).plan());
                continue;
            }
            if (name.equals("ReusedExchange") || name.equals("InMemoryTableScan")) {
                continue;
            }
            scala.collection.Seq children = (scala.collection.Seq) node.children();
            int size = children.size();
            scala.collection.Iterator each = children.iterator();
            while (each.hasNext()) {
                waiting.add(each.next());
            }
            boolean scans = size == 0 && name.indexOf("Scan") >= 0;
            if (count > mostNodes || !scans && !writes(name)) {
                continue;
            }
            String[] found = {
                scans ? "scan" : "write",
                scans ? ((scala.collection.Seq) node.output()).mkString(",") : "",
                node.metrics().mkString("\n"),
                scans && node instanceof BatchScanExec ? ((BatchScanExec) node).scan().toString() : ""
            };
            add(facts, found);
        }
        return count + ":" + facts;
    }

    private static boolean writes(String name) {
        return name.startsWith("Execute") || name.startsWith("AppendData") || name.startsWith("Overwrite")
            || name.startsWith("Replace") || name.startsWith("CreateTable") || name.startsWith("WriteToDataSource");
    }

    private static void add(StringBuilder out, String[] texts) {
        for (int i = 0; i < texts.length; i++) {
            out.append(texts[i].codePointCount(0, texts[i].length())).append(':').append(texts[i]);
        }
    }

    /** The class of a plan's root; `Commands` for an INSERT into several tables. */
    private String kind(LogicalPlan plan) {
        String name = shortName(plan.getClass());
        if (!name.equals("Union")) {
            return name;
        }
        Object first = ((scala.collection.Seq) plan.children()).head();
        return commands.contains(shortName(first.getClass())) ? "Commands" : name;
    }

    /** Events of streams are classes inside another. */
    private static String eventName(Class type) {
        return type.getName().substring(Math.max(type.getName().lastIndexOf('.'), type.getName().lastIndexOf('$')) + 1);
    }

    static String shortName(Class type) {
        return type.getName().substring(type.getName().lastIndexOf('.') + 1);
    }
}
