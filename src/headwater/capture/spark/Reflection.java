package headwater;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.HashMap;

/** Calls methods without parameters by their name, and knows the names of constructors' parameters, as Spark does. Looks each up once. */
class Reflection {
    private static final Class[] NONE = new Class[0];
    private final HashMap methods = new HashMap();
    private final HashMap names = new HashMap();
    private Object scalaReflection;
    private Method parameterNames;

    /** The value of a method; throws NoSuchMethodException if the object has none of that name. */
    Object call(Object on, String name) throws Exception {
        HashMap known = (HashMap) methods.get(on.getClass());
        if (known == null) {
            known = new HashMap();
            methods.put(on.getClass(), known);
        }
        Method method = (Method) known.get(name);
        if (method == null) {
            if (known.containsKey(name)) {
                throw new NoSuchMethodException(name);
            }
            try {
                method = on.getClass().getMethod(name, NONE);
                if (!Modifier.isPublic(method.getDeclaringClass().getModifiers())) {
                    method.setAccessible(true);
                }
            } finally {
                known.put(name, method);
            }
        }
        return method.invoke(on, (Object[]) null);
    }

    /** The names of a case class's parameters, with those of its second list. */
    String[] parameters(Class type) {
        String[] known = (String[]) names.get(type);
        if (known == null) {
            try {
                if (parameterNames == null) {
                    Class reflection = Class.forName("org.apache.spark.sql.catalyst.ScalaReflection$", true, type.getClassLoader());
                    scalaReflection = reflection.getField("MODULE$").get(null);
                    Class[] asked = {Class.class};
                    parameterNames = reflection.getMethod("getConstructorParameterNames", asked);
                }
                Object[] given = {type};
                scala.collection.Seq found = (scala.collection.Seq) parameterNames.invoke(scalaReflection, given);
                known = new String[found.size()];
                for (int i = 0; i < known.length; i++) {
                    known[i] = (String) found.apply(i);
                }
            } catch (Exception error) {
                known = new String[0];
            }
            names.put(type, known);
        }
        return known;
    }

    /** The values of the second list of parameters. */
    scala.collection.Seq curried(Object node) {
        try {
            return (scala.collection.Seq) call(node, "otherCopyArgs");
        } catch (Exception error) {
            throw new IllegalStateException(String.valueOf(error));
        }
    }

    /** Writes a text as JSON; null if there is none. */
    static void quote(StringBuilder out, String text) {
        if (text == null) {
            out.append("null");
            return;
        }
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || Character.isSurrogate(c) && !isPair(text, i)) {
                out.append("\\u").append(Integer.toHexString(0x10000 | c).substring(1));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    private static boolean isPair(String text, int at) {
        return Character.isHighSurrogate(text.charAt(at)) && at + 1 < text.length() && Character.isLowSurrogate(text.charAt(at + 1))
            || Character.isLowSurrogate(text.charAt(at)) && at > 0 && Character.isHighSurrogate(text.charAt(at - 1));
    }
}
