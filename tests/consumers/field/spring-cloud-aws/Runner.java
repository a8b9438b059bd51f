import io.awspring.cloud.sqs.annotation.SqsListener;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;

/** An application with one listener, with the defaults of the starter: acknowledged when it returns. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class Runner {
    public static void main(String[] arguments) {
        SpringApplication.run(Runner.class, arguments);
    }

    @SqsListener("${QUERN_QUEUE_NAME}")
    public void listen(String body) throws Exception {
        QuernAdapter.handle(body);
    }
}
