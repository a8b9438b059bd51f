import com.amazon.sqs.javamessaging.ProviderConfiguration;
import com.amazon.sqs.javamessaging.SQSConnection;
import com.amazon.sqs.javamessaging.SQSConnectionFactory;
import com.amazon.sqs.javamessaging.SQSSession;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageListener;
import jakarta.jms.TextMessage;
import java.net.URI;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import software.amazon.awssdk.services.sqs.SqsClient;

/** Sends and consumes over JMS, with the provider for it that AWS publishes. */
public final class Runner {
    private static final String RECEIVE_COUNT = "JMSXDeliveryCount";
    private static final Map<String, Consumer> CONSUMERS = new ConcurrentHashMap<>();

    private Runner() {}

    public static void main(String[] arguments) throws Exception {
        String jar = SQSConnection.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        String version = jar.replaceAll(".*/amazon-sqs-java-messaging-lib-(.*)\\.jar", "$1");
        Lines.serve("com.amazonaws:amazon-sqs-java-messaging-lib " + version, Runner::answer);
    }

    private static JsonObject answer(String endpoint, String action, JsonObject members) throws Exception {
        JsonObject output = switch (action) {
            case "consume.start" -> start(endpoint, members);
            case "consume.seen" -> consumer(members).seen();
            case "consume.stop" -> stop(members);
            case "send" -> send(endpoint, members);
            default -> throw new Lines.Lacks(action);
        };
        return Lines.object("output", output);
    }

    private static SQSConnection connect(String endpoint, int prefetch) throws JMSException {
        var configuration = new ProviderConfiguration().withNumberOfMessagesToPrefetch(prefetch);
        SqsClient client = SqsClient.builder().endpointOverride(URI.create(endpoint)).build();
        return new SQSConnectionFactory(configuration, client).createConnection();
    }

    private static Consumer consumer(JsonObject members) {
        return CONSUMERS.get(members.get("consumer").getAsString());
    }

    private static JsonObject start(String endpoint, JsonObject members) throws JMSException {
        SQSConnection connection = connect(endpoint, members.get("batch").getAsInt());
        var consumer = new Consumer(connection, members.getAsJsonObject("fail"));
        CONSUMERS.put(members.get("consumer").getAsString(), consumer);
        var session = connection.createSession(false, SQSSession.UNORDERED_ACKNOWLEDGE);
        var queue = session.createQueue(members.get("queue_name").getAsString());
        session.createConsumer(queue).setMessageListener(consumer);
        connection.start();
        return new JsonObject();
    }

    private static JsonObject stop(JsonObject members) throws JMSException {
        consumer(members).connection.close();
        return new JsonObject();
    }

    private static JsonObject send(String endpoint, JsonObject members) throws JMSException {
        try (SQSConnection connection = connect(endpoint, 0)) {
            var session = connection.createSession(false, SQSSession.AUTO_ACKNOWLEDGE);
            var message = session.createTextMessage(members.get("MessageBody").getAsString());
            for (var member : members.entrySet()) {
                set(message, member.getKey(), member.getValue());
            }
            session.createProducer(session.createQueue(members.get("queue_name").getAsString())).send(message);
            return Lines.object("MessageId", new JsonPrimitive(message.getJMSMessageID()));
        }
    }

    private static void set(Message message, String member, JsonElement value) throws JMSException {
        switch (member) {
            case "queue_name", "QueueUrl", "MessageBody" -> { } // told already
            case "MessageGroupId" -> message.setStringProperty("JMSXGroupID", value.getAsString());
            case "MessageDeduplicationId" ->
                    message.setStringProperty("JMS_SQS_DeduplicationId", value.getAsString());
            case "MessageAttributes" -> {
                for (var attribute : value.getAsJsonObject().entrySet()) {
                    JsonObject detail = attribute.getValue().getAsJsonObject();
                    String text = detail.get("StringValue").getAsString();
                    boolean number = detail.get("DataType").getAsString().equals("Number");
                    message.setObjectProperty(attribute.getKey(), number ? Integer.valueOf(text) : text);
                }
            }
            default -> throw new Lines.Lacks("send." + member);
        }
    }

    /** Fails by not acknowledging: after an exception the library asks for the message again at once. */
    static final class Consumer implements MessageListener {
        private final SQSConnection connection;
        private final JsonArray handed = new JsonArray();
        private final Map<String, Integer> leftToFail = new HashMap<>();

        Consumer(SQSConnection connection, JsonObject fail) {
            this.connection = connection;
            fail.entrySet().forEach(body -> leftToFail.put(body.getKey(), body.getValue().getAsInt()));
        }

        @Override
        public void onMessage(Message message) {
            try {
                if (!take((TextMessage) message)) {
                    message.acknowledge();
                }
            } catch (JMSException trouble) {
                throw new IllegalStateException(trouble);
            }
        }

        private synchronized boolean take(TextMessage message) throws JMSException {
            boolean failed = leftToFail.merge(message.getText(), -1, Integer::sum) >= 0;
            JsonObject seen = Lines.object("Body", new JsonPrimitive(message.getText()));
            seen.addProperty("failed", failed);
            JsonObject system = Lines.object(
                    "ApproximateReceiveCount", new JsonPrimitive(message.getStringProperty(RECEIVE_COUNT)));
            system.addProperty("SentTimestamp", Long.toString(message.getJMSTimestamp()));
            seen.add("Attributes", system);
            var own = new JsonObject();
            for (Object name : Collections.list(message.getPropertyNames())) {
                var text = new JsonPrimitive(message.getStringProperty(name.toString()));
                own.add(name.toString(), Lines.object("StringValue", text));
            }
            seen.add("MessageAttributes", own);
            handed.add(seen);
            return failed;
        }

        private synchronized JsonObject seen() {
            return Lines.object("seen", handed.deepCopy());
        }
    }
}
