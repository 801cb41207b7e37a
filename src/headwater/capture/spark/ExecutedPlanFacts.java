package headwater;

import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;

/** Reads an executed plan in one call. Compiled in the driver by Spark's own Janino, so only what that understands is used: no lambdas. */
public class ExecutedPlanFacts {
    /** Returns the count of nodes, then name, output, metrics and scan of each node without hidden parts: each text behind its length. */
    public String read(SparkPlan root, int most) {
        StringBuilder facts = new StringBuilder();
        java.util.ArrayList waiting = new java.util.ArrayList();
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
            for (int i = 0; i < size; i++) {
                waiting.add(children.apply(i));
            }
            if (count > most) {
                continue;
            }
            boolean scans = size == 0 && name.indexOf("Scan") >= 0;
            if (!scans && !writes(name)) {
                continue;
            }
            add(facts, scans ? "scan" : "write");
            add(facts, scans ? ((scala.collection.Seq) node.output()).mkString(",") : "");
            add(facts, node.metrics().mkString("\n"));
            add(facts, scans && node instanceof BatchScanExec ? ((BatchScanExec) node).scan().toString() : "");
        }
        return count + ":" + facts;
    }

    private static boolean writes(String name) {
        return name.startsWith("Execute") || name.startsWith("AppendData") || name.startsWith("Overwrite")
            || name.startsWith("Replace") || name.startsWith("CreateTable") || name.startsWith("WriteToDataSource");
    }

    private static void add(StringBuilder facts, String text) {
        facts.append(text.codePointCount(0, text.length())).append(':').append(text);
    }
}
