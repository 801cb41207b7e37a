package headwater;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;

import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;

/**
 * Writes a plan as Spark's `toJSON` does, for `plan.py`, but shorter: each attribute once, in a table that references point into by negative numbers;
 * ExprIds numbered from 0 in the order of the plan, so that the same plan has the same text; no metadata, and no literal that is not a name.
 */
class PlanText {
    private static final HashSet LEFT_OUT = new HashSet(java.util.Arrays.asList((
        "metadata qualifier nullable resultId stats tableStats prunedPartitions explicitMetadata nonInheritableMetadataKeys desc storage bucketSpec "
        + "createTime lastAccessTime createVersion owner tableType comment evalMode evalContext timeZoneId unsupportedFeatures ignoredProperties viewText "
        + "multipartIdentifier schemaPreservesCase tracksPartitionsInCatalog viewOriginalText hint").split(" ")));
    /** Expressions whose literals are names or paths of fields. */
    private static final HashSet NAMING = new HashSet(java.util.Arrays.asList("CreateNamedStruct GetJsonObject JsonTuple ArraysZip".split(" ")));
    private static final int DEEPEST_PRODUCT = 4;
    /** The size of a node or an expression, in mentions of an attribute: about what Python needs to hold it. */
    private static final int NODE = 8;
    private final Reflection reflection;
    private final int most;
    private final HashMap numbers = new HashMap();
    private final StringBuilder ids = new StringBuilder();
    private final HashMap places = new HashMap();
    private final StringBuilder attributes = new StringBuilder();
    private final IdentityHashMap types = new IdentityHashMap();
    private boolean names;
    private int total;
    private int nodes;

    PlanText(Reflection reflection, int most) {
        this.reflection = reflection;
        this.most = most;
    }

    /** The plan; or, if it is larger than the most, `n of m`: how many of its nodes were read until then. */
    String of(LogicalPlan plan) {
        StringBuilder out = new StringBuilder();
        try {
            tree(out, plan, true);
        } catch (TooLarge reason) {
            return nodes + " of " + all(plan);
        }
        return "{\"attributes\":[" + attributes + "],\"plan\":" + out + "}";
    }

    /** The ExprIds by their number. */
    String ids() {
        return ids.toString();
    }

    /** The number of an ExprId. */
    int number(long id) {
        Long key = new Long(id);
        Integer known = (Integer) numbers.get(key);
        if (known == null) {
            known = new Integer(numbers.size());
            numbers.put(key, known);
            ids.append(known.intValue() == 0 ? "" : " ").append(id);
        }
        return known.intValue();
    }

    private static int all(LogicalPlan plan) {
        ArrayList waiting = new ArrayList();
        waiting.add(plan);
        int count = 0;
        while (!waiting.isEmpty()) {
            TreeNode node = (TreeNode) waiting.remove(waiting.size() - 1);
            count++;
            scala.collection.Iterator children = ((scala.collection.Seq) node.children()).iterator();
            while (children.hasNext()) {
                waiting.add(children.next());
            }
        }
        return count;
    }

    /** A tree in preorder, as a list. */
    private void tree(StringBuilder out, TreeNode root, boolean isNamed) {
        ArrayList waiting = new ArrayList();
        ArrayList naming = new ArrayList();
        waiting.add(root);
        naming.add(isNamed ? Boolean.TRUE : Boolean.FALSE);
        char before = '[';
        while (!waiting.isEmpty()) {
            TreeNode node = (TreeNode) waiting.remove(waiting.size() - 1);
            boolean isName = ((Boolean) naming.remove(naming.size() - 1)).booleanValue();
            out.append(before);
            before = ',';
            if (node instanceof AttributeReference) {
                attribute(out, (AttributeReference) node);
                continue;
            }
            count(NODE);
            if (node instanceof LogicalPlan) {
                nodes++;
            }
            String kind = QueryFacts.shortName(node.getClass());
            ArrayList children = new ArrayList();
            scala.collection.Iterator each = ((scala.collection.Seq) node.children()).iterator();
            while (each.hasNext()) {
                children.add(each.next());
            }
            out.append("{\"class\":\"").append(kind).append("\",\"num-children\":").append(children.size());
            if (node instanceof Literal) {
                Object value = ((Literal) node).value();
                out.append(",\"value\":");
                Reflection.quote(out, isName && value != null ? value.toString() : null);
            } else {
                names = NAMING.contains(kind);
                fields(out, node, children);
            }
            out.append('}');
            Boolean named = NAMING.contains(kind) ? Boolean.TRUE : Boolean.FALSE;
            for (int i = children.size() - 1; i >= 0; i--) {
                waiting.add(children.get(i));
                naming.add(named);
            }
        }
        out.append(']');
    }

    private void fields(StringBuilder out, TreeNode node, ArrayList children) {
        IdentityHashMap indexes = new IdentityHashMap();
        for (int i = children.size() - 1; i >= 0; i--) {
            indexes.put(children.get(i), new Integer(i));
        }
        String[] names = reflection.parameters(node.getClass());
        scala.collection.Iterator values = ((scala.Product) node).productIterator();
        int at = 0;
        for (; at < names.length && values.hasNext(); at++) {
            field(out, names[at], values.next(), indexes);
        }
        if (at < names.length) {
            values = reflection.curried(node).iterator();
            for (; at < names.length && values.hasNext(); at++) {
                field(out, names[at], values.next(), indexes);
            }
        }
    }

    private void field(StringBuilder out, String name, Object value, IdentityHashMap indexes) {
        if (LEFT_OUT.contains(name)) {
            return;
        }
        out.append(",\"").append(name).append("\":");
        if (value instanceof TreeNode && indexes.containsKey(value)) {
            out.append(indexes.get(value));
        } else if (value instanceof scala.collection.Seq && areChildren((scala.collection.Seq) value, indexes)) {
            char before = '[';
            scala.collection.Iterator each = ((scala.collection.Seq) value).iterator();
            while (each.hasNext()) {
                out.append(before).append(indexes.get(each.next()));
                before = ',';
            }
            out.append(']');
        } else {
            value(out, value, 0);
        }
    }

    private static boolean areChildren(scala.collection.Seq values, IdentityHashMap indexes) {
        scala.collection.Iterator each = values.iterator();
        boolean any = false;
        while (each.hasNext()) {
            if (!indexes.containsKey(each.next())) {
                return false;
            }
            any = true;
        }
        return any;
    }

    private void value(StringBuilder out, Object value, int depth) {
        if (value instanceof scala.Option) {
            value = ((scala.Option) value).isDefined() ? ((scala.Option) value).get() : null;
        }
        if (value instanceof Boolean || value instanceof Integer || value instanceof Long) {
            out.append(value);
        } else if (value instanceof String) {
            Reflection.quote(out, (String) value);
        } else if (value instanceof ExprId) {
            out.append("{\"id\":").append(number(((ExprId) value).id())).append('}');
        } else if (value instanceof DataType) {
            type(out, (DataType) value);
        } else if (value instanceof TreeNode) {
            tree(out, (TreeNode) value, names);
        } else if (value instanceof scala.collection.Seq) {
            list(out, (scala.collection.Seq) value, depth);
        } else if (value == null) {
            out.append("null");
        } else if (value.getClass().getName().endsWith("$")) {
            out.append("{\"object\":\"").append(value.getClass().getName()).append("\"}");
        } else if (value instanceof scala.Product && depth < DEEPEST_PRODUCT && isCatalyst(value.getClass().getName())) {
            out.append("{\"product-class\":\"").append(value.getClass().getName()).append('"');
            String[] names = reflection.parameters(value.getClass());
            scala.collection.Iterator values = ((scala.Product) value).productIterator();
            for (int i = 0; i < names.length && values.hasNext(); i++) {
                Object inner = values.next();
                if (!LEFT_OUT.contains(names[i])) {
                    out.append(",\"").append(names[i]).append("\":");
                    value(out, inner, depth + 1);
                }
            }
            out.append('}');
        } else {
            out.append("null");
        }
    }

    private static boolean isCatalyst(String name) {
        return name.startsWith("org.apache.spark.sql.catalyst.") || name.startsWith("org.apache.spark.sql.types.");
    }

    /** Trees, lists of trees, names as `[a, b]`, ExprIds; of anything else nothing. */
    private void list(StringBuilder out, scala.collection.Seq values, int depth) {
        Object first = values.isEmpty() ? null : values.head();
        if (first instanceof String) {
            Reflection.quote(out, "[" + values.mkString(", ") + "]");
            return;
        }
        boolean read = first == null || first instanceof TreeNode || first instanceof scala.collection.Seq || first instanceof ExprId;
        if (!read) {
            out.append("null");
            return;
        }
        out.append('[');
        scala.collection.Iterator each = values.iterator();
        boolean next = false;
        while (each.hasNext()) {
            Object value = each.next();
            out.append(next ? "," : "");
            next = true;
            if (value instanceof AttributeReference) {
                attribute(out, (AttributeReference) value);
            } else {
                value(out, value, depth + 1);
            }
        }
        out.append(']');
    }

    private void attribute(StringBuilder out, AttributeReference attribute) {
        count(1);
        String key = attribute.exprId().id() + " " + attribute.name();
        Integer place = (Integer) places.get(key);
        if (place == null) {
            place = new Integer(places.size());
            places.put(key, place);
            attributes.append(place.intValue() == 0 ? "[" : ",[").append(number(attribute.exprId().id())).append(',');
            Reflection.quote(attributes, attribute.name());
            attributes.append(',');
            type(attributes, attribute.dataType());
            attributes.append(']');
        }
        out.append(-1 - place.intValue());
    }

    private void type(StringBuilder out, DataType type) {
        String text = (String) types.get(type);
        if (text == null) {
            text = type.json();
            types.put(type, text);
        }
        out.append(text);
    }

    private void count(int size) {
        total += size;
        if (total > most) {
            throw new TooLarge();
        }
    }

    private static class TooLarge extends RuntimeException {
        TooLarge() {
            super("", null, false, false);
        }
    }
}
