package headwater;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Asks objects in advance what Python will ask them, and writes the answers as JSON: for each method its value, an object with the answers of the value,
 * a list (`#`), a map (`=`); `[]` where there is no such method. What fails is left out: Python asks again, and meets the error.
 */
class Answers {
    private static final String ORIGIN = "origin(sqlText(toString)) ";
    private static final String TABLE =
        "getClass(getSimpleName getName) jdbcOptions(url tableOrQuery) fileIndex(rootPaths(mkString)) formatName properties(=) name";
    private static final String ICEBERG = TABLE + " snapshotId version table(getClass(getPackageName getSimpleName))";
    private final Reflection reflection;
    private final HashMap questions = new HashMap();

    Answers(Reflection reflection) {
        this.reflection = reflection;
        String written = ORIGIN + "query(@plan) table(table(@table))";
        add("InsertIntoHadoopFsRelationCommand",
            ORIGIN + "outputPath(toString) fileFormat(toString) mode(toString) catalogTable(get(location(toString))) query(@plan)");
        add("SaveIntoDataSourceCommand", ORIGIN + "options(=) mode(toString) dataSource(getClass(getSimpleName)) query(@plan)");
        add("CreateDataSourceTableAsSelectCommand", ORIGIN + "mode(toString) query(@plan)");
        add("InsertIntoHiveTable", ORIGIN + "table(location(toString) schema(json)) query(@plan)");
        add("AppendData", written);
        add("OverwriteByExpression", written + " writeOptions(=)");
        add("OverwritePartitionsDynamic", written);
        add("CreateTableAsSelect", ORIGIN + "query(@plan)");
        add("ReplaceTableAsSelect", ORIGIN + "query(@plan)");
        add("ReplaceData", ORIGIN + "originalTable(table(@table) schema(json)) query(@plan)");
        add("WriteDelta", ORIGIN + "originalTable(table(@table) schema(json)) query(@plan)");
        add("WriteToMicroBatchDataSourceV1", ORIGIN + "sink(toString) query(@plan)");
        add("WriteToMicroBatchDataSource", ORIGIN + "sink query(@plan)");
        add("CreateViewCommand", ORIGIN + "plan(@plan) userSpecifiedColumns(size)");
        add("LogicalRelation", "relation(getClass(getSimpleName) toString path jdbcOptions(url tableOrQuery) "
            + "location(rootPaths(mkString) deltaLog(dataPath(toString)) version)) catalogTable(get(location(toString)))");
        add("LogicalRDD", "rdd(id)");
        add("HiveTableRelation", "tableMeta(location(toString))");
        add("DataSourceV2Relation", "table(@table) options(=)");
        add("StreamingDataSourceV2Relation", "table(@table) options(=)");
        add("DataSourceV2ScanRelation", "relation(table(@table) options(=))");
        add("StreamingDataSourceV2ScanRelation", "relation(table(@table) options(=))");
        add("@plan", ORIGIN + "schema(json)");
        add("@root", ORIGIN);
        add("@leaf", "");
        add("@table", TABLE);
        add("@iceberg", ICEBERG);
    }

    private void add(String kind, String text) {
        questions.put(kind, text);
    }

    /** The answers of one object to questions: `a(b c) d` asks `a().b()`, `a().c()` and `d()`. */
    String of(Object on, String text) {
        StringBuilder out = new StringBuilder("{");
        answer(out, on, text, null);
        return out.append('}').toString();
    }

    /** The answers of a plan's root and its leaves. */
    String ofPlan(LogicalPlan plan, PlanText text) {
        StringBuilder out = new StringBuilder("{");
        String kind = QueryFacts.shortName(plan.getClass());
        String asked = (String) questions.get(kind);
        if (asked == null || ((scala.collection.Seq) plan.children()).isEmpty() && asked.indexOf("@plan") < 0) {
            leaves(out, plan, text);
            out.append(',');
            asked = ORIGIN;
        }
        out.append("\"getClass\":{\"getSimpleName\":");
        Reflection.quote(out, kind);
        out.append('}');
        answer(out, plan, asked, text);
        return out.append('}').toString();
    }

    private void leaves(StringBuilder out, LogicalPlan plan, PlanText text) {
        out.append("\"subqueriesAll\":{\"#\":[");
        scala.collection.Iterator subqueries = ((scala.collection.Seq) plan.subqueriesAll()).iterator();
        boolean next = false;
        while (subqueries.hasNext()) {
            out.append(next ? ",{" : "{");
            leavesOf(out, (LogicalPlan) subqueries.next(), text);
            out.append('}');
            next = true;
        }
        out.append("]},");
        leavesOf(out, plan, text);
    }

    private void leavesOf(StringBuilder out, LogicalPlan plan, PlanText text) {
        out.append("\"collectLeaves\":{\"#\":[");
        scala.collection.Iterator leaves = ((scala.collection.Seq) plan.collectLeaves()).iterator();
        boolean next = false;
        while (leaves.hasNext()) {
            LogicalPlan leaf = (LogicalPlan) leaves.next();
            String kind = QueryFacts.shortName(leaf.getClass());
            scala.collection.Seq output = (scala.collection.Seq) leaf.output();
            out.append(next ? ",{" : "{").append("\"getClass\":{\"getSimpleName\":");
            Reflection.quote(out, kind);
            out.append("},\"first\":");
            out.append(output.isEmpty() ? -1 : text.number(((Attribute) output.head()).exprId().id()));
            if (questions.containsKey(kind)) {
                answer(out, leaf, (String) questions.get(kind), text);
            }
            out.append('}');
            next = true;
        }
        out.append("]}");
    }

    /** Writes the answers behind those that are written already. */
    private void answer(StringBuilder out, Object on, String text, PlanText plan) {
        int at = 0;
        while (at < text.length()) {
            int end = at;
            while (end < text.length() && text.charAt(end) != ' ' && text.charAt(end) != '(') {
                end++;
            }
            String name = text.substring(at, end);
            String further = "";
            if (end < text.length() && text.charAt(end) == '(') {
                int open = 1;
                int from = end + 1;
                for (end = from; open > 0; end++) {
                    open += text.charAt(end) == '(' ? 1 : text.charAt(end) == ')' ? -1 : 0;
                }
                further = text.substring(from, end - 1);
            }
            at = end + (end < text.length() && text.charAt(end) == ' ' ? 1 : 0);
            if (name.length() > 0) {
                ask(out, on, name, further, plan);
            }
        }
    }

    private void ask(StringBuilder out, Object on, String name, String further, PlanText plan) {
        int before = out.length();
        if (out.charAt(before - 1) != '{') {
            out.append(',');
        }
        out.append('"').append(name).append("\":");
        try {
            Object value = name.equals("mkString") ? ((scala.collection.Seq) on).mkString("\u0001") : reflection.call(on, name);
            if (value == null || value instanceof Number || value instanceof Boolean) {
                out.append(value);
            } else if (value instanceof String) {
                Reflection.quote(out, (String) value);
            } else if (further.equals("=")) {
                map(out, value);
            } else if (further.length() == 0) {
                out.setLength(before);
            } else {
                out.append('{');
                if (further.equals("@plan")) {
                    leaves(out, (LogicalPlan) value, plan);
                    answer(out, value, (String) questions.get("@plan"), plan);
                } else if (further.equals("@table")) {
                    answer(out, value, value.getClass().getName().startsWith("org.apache.iceberg.") ? ICEBERG : TABLE, plan);
                } else {
                    answer(out, value, further, plan);
                }
                out.append('}');
            }
        } catch (NoSuchMethodException absent) {
            out.append("[]");
        } catch (Exception error) {
            out.setLength(before);
        }
    }

    private void map(StringBuilder out, Object value) {
        HashMap found = new HashMap();
        if (value instanceof Map) {
            found.putAll((Map) value);
        } else {
            scala.collection.Iterator pairs = ((scala.collection.Map) value).iterator();
            while (pairs.hasNext()) {
                scala.Tuple2 pair = (scala.Tuple2) pairs.next();
                found.put(pair._1(), pair._2());
            }
        }
        out.append("{\"=\":{");
        Iterator keys = new java.util.TreeMap(found).entrySet().iterator();
        while (keys.hasNext()) {
            Map.Entry pair = (Map.Entry) keys.next();
            Reflection.quote(out, String.valueOf(pair.getKey()));
            out.append(':');
            Reflection.quote(out, String.valueOf(pair.getValue()));
            out.append(keys.hasNext() ? "," : "");
        }
        out.append("}}");
    }
}
