import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.awspring.cloud.sqs.annotation.SqsListener;
import io.awspring.cloud.sqs.operations.SqsSendOptions;
import io.awspring.cloud.sqs.operations.SqsTemplate;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;

/**
 * Sends with an SqsTemplate and consumes with an SqsListener of Spring Cloud AWS, both as its starter
 * sets them up. Each consumer, and the sender to each endpoint, is an application of its own.
 */
public final class Runner {
    private static final String OF_THE_FRAMEWORK = "Sqs_";
    private static final String OF_THE_SYSTEM = "Sqs_Msa_";
    private static final Map<String, SqsTemplate> SENDERS = new ConcurrentHashMap<>();
    private static final Map<String, Consumer> CONSUMERS = new ConcurrentHashMap<>();

    private Runner() {}

    public static void main(String[] arguments) throws Exception {
        String jar = SqsTemplate.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        String version = jar.replaceAll(".*/spring-cloud-aws-sqs-(.*)\\.jar", "$1");
        Lines.serve("io.awspring.cloud:spring-cloud-aws-starter-sqs " + version, Runner::answer);
    }

    private static JsonObject answer(String endpoint, String action, JsonObject members) {
        JsonObject output = switch (action) {
            case "consume.start" -> start(endpoint, members);
            case "consume.seen" -> consumer(members).seen();
            case "consume.stop" -> stop(members);
            case "send" -> send(endpoint, members);
            default -> throw new Lines.Lacks(action);
        };
        return Lines.object("output", output);
    }

    private static ConfigurableApplicationContext run(
            String endpoint, Class<?> application, Map<String, Object> properties, Handler handler) {
        var all = new HashMap<String, Object>(properties);
        all.put("spring.cloud.aws.sqs.endpoint", endpoint);
        all.put("logging.level.root", "off"); // a handler that fails is no news here
        return new SpringApplicationBuilder(application)
                .web(WebApplicationType.NONE)
                .properties(all)
                .registerShutdownHook(false)
                .initializers(context -> context.getBeanFactory().registerSingleton("handler", handler))
                .run("--spring.main.banner-mode=off");
    }

    private static Consumer consumer(JsonObject members) {
        return CONSUMERS.get(members.get("consumer").getAsString());
    }

    private static JsonObject start(String endpoint, JsonObject members) {
        var consumer = new Consumer(members.getAsJsonObject("fail"));
        CONSUMERS.put(members.get("consumer").getAsString(), consumer);
        Map<String, Object> properties = Map.of(
                "queue", members.get("queue_name").getAsString(),
                "batch", members.get("batch").getAsString());
        consumer.context = run(endpoint, Consuming.class, properties, consumer);
        return new JsonObject();
    }

    private static JsonObject stop(JsonObject members) {
        consumer(members).context.close();
        return new JsonObject();
    }

    private static JsonObject send(String endpoint, JsonObject members) {
        SqsTemplate template = SENDERS.computeIfAbsent(endpoint, url ->
                run(url, Sending.class, Map.of(), message -> {}).getBean(SqsTemplate.class));
        var sent = template.send((SqsSendOptions<String> to) -> members.entrySet().forEach(
                member -> set(to, member.getKey(), member.getValue())));
        return Lines.object("MessageId", new JsonPrimitive(sent.messageId().toString()));
    }

    private static void set(SqsSendOptions<String> to, String member, JsonElement value) {
        switch (member) {
            case "queue_name" -> to.queue(value.getAsString());
            case "QueueUrl" -> { } // the name says it
            case "MessageBody" -> to.payload(value.getAsString());
            case "DelaySeconds" -> to.delaySeconds(value.getAsInt());
            case "MessageGroupId" -> to.messageGroupId(value.getAsString());
            case "MessageDeduplicationId" -> to.messageDeduplicationId(value.getAsString());
            case "MessageAttributes" -> value.getAsJsonObject().entrySet().forEach(attribute ->
                    to.header(attribute.getKey(), headerOf(attribute.getValue().getAsJsonObject())));
            default -> throw new Lines.Lacks("send." + member);
        }
    }

    private static Object headerOf(JsonObject attribute) {
        String text = attribute.get("StringValue").getAsString();
        return attribute.get("DataType").getAsString().equals("Number") ? Integer.valueOf(text) : text;
    }

    /** What the listener gives its messages to. */
    public interface Handler {
        void handle(Message<String> message);
    }

    /** An application that only sends. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Sending {}

    /** An application with one listener. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Consuming {
        @Bean
        Listener listener(Handler handler) {
            return new Listener(handler);
        }
    }

    static final class Listener {
        private final Handler handler;

        Listener(Handler handler) {
            this.handler = handler;
        }

        @SqsListener(queueNames = "${queue}", maxMessagesPerPoll = "${batch}", maxConcurrentMessages = "${batch}")
        public void listen(Message<String> message) {
            handler.handle(message);
        }
    }

    static final class Consumer implements Handler {
        private final JsonArray handed = new JsonArray();
        private final Map<String, Integer> leftToFail = new HashMap<>();
        private ConfigurableApplicationContext context;

        Consumer(JsonObject fail) {
            fail.entrySet().forEach(body -> leftToFail.put(body.getKey(), body.getValue().getAsInt()));
        }

        @Override
        public void handle(Message<String> message) {
            if (take(message)) {
                throw new IllegalStateException("told to fail");
            }
        }

        private synchronized boolean take(Message<String> message) {
            boolean failed = leftToFail.merge(message.getPayload(), -1, Integer::sum) >= 0;
            JsonObject seen = Lines.object("Body", new JsonPrimitive(message.getPayload()));
            seen.addProperty("failed", failed);
            addAttributes(seen, message.getHeaders());
            handed.add(seen);
            return failed;
        }

        private synchronized JsonObject seen() {
            return Lines.object("seen", handed.deepCopy());
        }

        /** Both kinds of attributes are headers of the message. */
        private static void addAttributes(JsonObject seen, MessageHeaders headers) {
            var system = new JsonObject();
            var own = new JsonObject();
            headers.forEach((name, value) -> {
                var text = new JsonPrimitive(value.toString());
                if (name.startsWith(OF_THE_SYSTEM)) {
                    system.add(name.substring(OF_THE_SYSTEM.length()), text);
                } else if (!name.startsWith(OF_THE_FRAMEWORK)) {
                    own.add(name, Lines.object("StringValue", text));
                }
            });
            seen.add("Attributes", system);
            seen.add("MessageAttributes", own);
        }
    }
}
