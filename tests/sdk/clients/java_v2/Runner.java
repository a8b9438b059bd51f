import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.SdkField;
import software.amazon.awssdk.core.SdkPojo;
import software.amazon.awssdk.core.protocol.MarshallingType;
import software.amazon.awssdk.core.traits.ListTrait;
import software.amazon.awssdk.core.traits.MapTrait;
import software.amazon.awssdk.core.util.VersionInfo;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.SqsException;
import software.amazon.awssdk.utils.builder.Buildable;

/**
 * Makes SQS calls with the AWS SDK for Java 2, old or new. The SDK describes the members of all its
 * shapes, so nothing here names an action. It checks the digests of bodies and attributes itself.
 */
public final class Runner {
    private static final Map<String, SqsClient> CLIENTS = new ConcurrentHashMap<>();

    private Runner() {}

    public static void main(String[] arguments) throws Exception {
        Lines.serve("software.amazon.awssdk:sqs " + VersionInfo.SDK_VERSION, Runner::answer);
    }

    private static JsonObject answer(String endpoint, String action, JsonObject members) throws Exception {
        SqsClient client = CLIENTS.computeIfAbsent(
                endpoint, url -> SqsClient.builder().endpointOverride(URI.create(url)).build());
        Class<?> shape = shapeOf(action);
        var request = (SdkPojo) shape.getMethod("builder").invoke(null);
        fill(request, members, action);
        Method call = SqsClient.class.getMethod(
                Character.toLowerCase(action.charAt(0)) + action.substring(1), shape);
        try {
            var response = (SdkPojo) call.invoke(client, ((Buildable) request).build());
            return Lines.object("output", toWire(response));
        } catch (InvocationTargetException wrapped) {
            if (wrapped.getCause() instanceof SqsException error) {
                return Lines.object("error", shown(error));
            }
            throw wrapped.getCause() instanceof Exception cause ? cause : wrapped;
        }
    }

    private static Class<?> shapeOf(String action) {
        try {
            return Class.forName(SqsException.class.getPackageName() + "." + action + "Request");
        } catch (ClassNotFoundException unknown) {
            throw new Lines.Lacks(action);
        }
    }

    private static void fill(SdkPojo builder, JsonObject members, String path) {
        var fields = new LinkedHashMap<String, SdkField<?>>();
        builder.sdkFields().forEach(field -> fields.put(field.memberName(), field));
        for (var member : members.entrySet()) {
            SdkField<?> field = fields.get(nameOf(member.getKey(), fields));
            if (field == null) {
                throw new Lines.Lacks(path + "." + member.getKey());
            }
            field.set(builder, fromWire(field, member.getValue(), path + "." + member.getKey()));
        }
    }

    private static String nameOf(String member, Map<String, SdkField<?>> fields) {
        if (!member.equals("SystemAttributeNames")) {
            return member;
        }
        String current = "MessageSystemAttributeNames";
        return fields.containsKey(current) ? current : "AttributeNames";
    }

    private static Object fromWire(SdkField<?> field, JsonElement value, String path) {
        MarshallingType<?> type = field.marshallingType();
        if (type == MarshallingType.STRING) {
            return value.getAsString();
        } else if (type == MarshallingType.INTEGER) {
            return value.getAsInt();
        } else if (type == MarshallingType.LONG) {
            return value.getAsLong();
        } else if (type == MarshallingType.SDK_BYTES) {
            String text = value.getAsJsonObject().get("$bytes").getAsString();
            return SdkBytes.fromByteArray(Base64.getDecoder().decode(text));
        } else if (type == MarshallingType.LIST) {
            SdkField<?> of = field.getTrait(ListTrait.class).memberFieldInfo();
            List<Object> list = new ArrayList<>();
            value.getAsJsonArray().forEach(item -> list.add(fromWire(of, item, path)));
            return list;
        } else if (type == MarshallingType.MAP) {
            SdkField<?> of = field.getTrait(MapTrait.class).valueFieldInfo();
            Map<String, Object> map = new LinkedHashMap<>();
            value.getAsJsonObject().entrySet().forEach(
                    entry -> map.put(entry.getKey(), fromWire(of, entry.getValue(), path)));
            return map;
        } else if (type == MarshallingType.SDK_POJO) {
            SdkPojo builder = field.constructor().get();
            fill(builder, value.getAsJsonObject(), path);
            return ((Buildable) builder).build();
        }
        throw new IllegalStateException(path + " is of the unexpected type " + type);
    }

    private static JsonElement toWire(Object value) {
        if (value instanceof SdkPojo pojo) {
            var object = new JsonObject();
            for (SdkField<?> field : pojo.sdkFields()) {
                Object member = field.getValueOrDefault(pojo);
                if (member != null && !isEmpty(member)) {
                    object.add(field.memberName(), toWire(member));
                }
            }
            return object;
        } else if (value instanceof Map<?, ?> map) {
            var object = new JsonObject();
            map.forEach((key, item) -> object.add(key.toString(), toWire(item)));
            return object;
        } else if (value instanceof List<?> list) {
            var array = new JsonArray();
            list.forEach(item -> array.add(toWire(item)));
            return array;
        } else if (value instanceof SdkBytes bytes) {
            String text = Base64.getEncoder().encodeToString(bytes.asByteArray());
            return Lines.object("$bytes", new JsonPrimitive(text));
        } else if (value instanceof Number number) {
            return new JsonPrimitive(number);
        } else if (value instanceof Boolean truth) {
            return new JsonPrimitive(truth);
        }
        return new JsonPrimitive(value.toString());
    }

    private static boolean isEmpty(Object value) {
        return value instanceof List<?> list && list.isEmpty() || value instanceof Map<?, ?> map && map.isEmpty();
    }

    /** What a program that catches the exception can see of it. */
    private static JsonObject shown(SqsException error) {
        var object = new JsonObject();
        object.addProperty("class", error.getClass().getSimpleName());
        object.addProperty("code", error.awsErrorDetails().errorCode());
        object.addProperty("service", error.awsErrorDetails().serviceName());
        object.addProperty("status", error.statusCode());
        object.addProperty("message", error.awsErrorDetails().errorMessage());
        return object;
    }
}
