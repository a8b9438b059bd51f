import com.amazonaws.client.builder.AwsClientBuilder.EndpointConfiguration;
import com.amazonaws.services.sqs.AmazonSQS;
import com.amazonaws.services.sqs.AmazonSQSClientBuilder;
import com.amazonaws.services.sqs.model.AmazonSQSException;
import com.amazonaws.util.VersionInfoUtils;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Makes SQS calls with the AWS SDK for Java 1, old or new. Its shapes are beans, so that nothing here
 * names an action. It posts to the URL of the queue, not to the endpoint, and checks digests itself.
 */
public final class Runner {
    private static final String REGION = System.getenv("AWS_REGION");
    private static final String MODEL = AmazonSQSException.class.getPackageName() + ".";
    private static final Map<String, AmazonSQS> CLIENTS = new ConcurrentHashMap<>();

    private Runner() {}

    public static void main(String[] arguments) throws Exception {
        Lines.serve("com.amazonaws:aws-java-sdk-sqs " + VersionInfoUtils.getVersion(), Runner::answer);
    }

    private static AmazonSQS clientOf(String endpoint) {
        var configuration = new EndpointConfiguration(endpoint, REGION);
        return AmazonSQSClientBuilder.standard().withEndpointConfiguration(configuration).build();
    }

    private static JsonObject answer(String endpoint, String action, JsonObject members) throws Exception {
        AmazonSQS client = CLIENTS.computeIfAbsent(endpoint, Runner::clientOf);
        Class<?> shape = shapeOf(action);
        Object request = fromWire(shape, members, action);
        Method call = AmazonSQS.class.getMethod(
                Character.toLowerCase(action.charAt(0)) + action.substring(1), shape);
        try {
            return Lines.object("output", toWire(call.invoke(client, request)));
        } catch (InvocationTargetException wrapped) {
            if (wrapped.getCause() instanceof AmazonSQSException error) {
                return Lines.object("error", shown(error));
            }
            throw wrapped.getCause() instanceof Exception cause ? cause : wrapped;
        }
    }

    private static Class<?> shapeOf(String action) {
        try {
            return Class.forName(MODEL + action + "Request");
        } catch (ClassNotFoundException unknown) {
            throw new Lines.Lacks(action);
        }
    }

    private static Object fromWire(Type type, JsonElement value, String path) throws Exception {
        if (type == String.class) {
            return value.getAsString();
        } else if (type == Integer.class) {
            return value.getAsInt();
        } else if (type == Long.class) {
            return value.getAsLong();
        } else if (type == ByteBuffer.class) {
            String text = value.getAsJsonObject().get("$bytes").getAsString();
            return ByteBuffer.wrap(Base64.getDecoder().decode(text));
        } else if (type instanceof ParameterizedType of && of.getRawType() == Map.class) {
            Map<String, Object> map = new LinkedHashMap<>();
            for (var entry : value.getAsJsonObject().entrySet()) {
                Type item = of.getActualTypeArguments()[1];
                map.put(entry.getKey(), fromWire(item, entry.getValue(), path));
            }
            return map;
        } else if (type instanceof ParameterizedType of) {
            List<Object> list = new ArrayList<>();
            for (JsonElement item : value.getAsJsonArray()) {
                list.add(fromWire(of.getActualTypeArguments()[0], item, path));
            }
            return list;
        }
        Object bean = ((Class<?>) type).getConstructor().newInstance();
        for (var member : value.getAsJsonObject().entrySet()) {
            String inside = path + "." + member.getKey();
            Method setter = setterOf(bean.getClass(), member.getKey(), inside);
            setter.invoke(bean, fromWire(setter.getGenericParameterTypes()[0], member.getValue(), inside));
        }
        return bean;
    }

    private static Method setterOf(Class<?> bean, String member, String path) {
        if (member.equals("SystemAttributeNames")) {
            Method current = setterOrNull(bean, "MessageSystemAttributeNames");
            return current != null ? current : setterOrNull(bean, "AttributeNames");
        }
        Method setter = setterOrNull(bean, member);
        if (setter == null) {
            throw new Lines.Lacks(path);
        }
        return setter;
    }

    private static Method setterOrNull(Class<?> bean, String member) {
        String name = "set" + Character.toUpperCase(member.charAt(0)) + member.substring(1);
        for (Method method : bean.getMethods()) {
            if (method.getName().equals(name) && !method.getParameterTypes()[0].isEnum()) {
                return method;
            }
        }
        return null;
    }

    private static JsonElement toWire(Object value) throws Exception {
        if (value instanceof Map<?, ?> map) {
            var object = new JsonObject();
            for (var entry : map.entrySet()) {
                object.add(entry.getKey().toString(), toWire(entry.getValue()));
            }
            return object;
        } else if (value instanceof List<?> list) {
            var array = new JsonArray();
            for (Object item : list) {
                array.add(toWire(item));
            }
            return array;
        } else if (value instanceof ByteBuffer buffer) {
            var bytes = new byte[buffer.remaining()];
            buffer.duplicate().get(bytes);
            String text = Base64.getEncoder().encodeToString(bytes);
            return Lines.object("$bytes", new JsonPrimitive(text));
        } else if (value instanceof Number number) {
            return new JsonPrimitive(number);
        } else if (value instanceof Boolean truth) {
            return new JsonPrimitive(truth);
        } else if (value instanceof String text) {
            return new JsonPrimitive(text);
        }
        return beanToWire(value);
    }

    private static JsonObject beanToWire(Object bean) throws Exception {
        var object = new JsonObject();
        for (Method method : bean.getClass().getDeclaredMethods()) {
            if (method.getName().startsWith("get") && method.getParameterCount() == 0) {
                Object member = method.invoke(bean);
                if (member != null && !isEmpty(member)) {
                    object.add(nameOf(bean, method.getName().substring(3)), toWire(member));
                }
            }
        }
        return object;
    }

    /** In the API one member of an answer begins with a small letter; no getter does. */
    private static String nameOf(Object bean, String member) {
        boolean small = bean.getClass().getSimpleName().equals("ListDeadLetterSourceQueuesResult")
                && member.equals("QueueUrls");
        return small ? "queueUrls" : member;
    }

    private static boolean isEmpty(Object value) {
        return value instanceof List<?> list && list.isEmpty() || value instanceof Map<?, ?> map && map.isEmpty();
    }

    /** What a program that catches the exception can see of it. */
    private static JsonObject shown(AmazonSQSException error) {
        var object = new JsonObject();
        object.addProperty("class", error.getClass().getSimpleName());
        object.addProperty("code", error.getErrorCode());
        object.addProperty("fault", String.valueOf(error.getErrorType()));
        object.addProperty("status", error.getStatusCode());
        object.addProperty("message", error.getErrorMessage());
        return object;
    }
}
