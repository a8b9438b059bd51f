import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;

/** A small consumer around the adapter that `quern check init` writes; SQS in XML, without an SDK. */
public final class Worker {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    private static Element sqs(String action, String more) throws Exception {
        String queue = URLEncoder.encode(System.getenv("QUEUE_URL"), StandardCharsets.UTF_8);
        var request = HttpRequest.newBuilder(URI.create(System.getenv("AWS_ENDPOINT_URL")))
                .header("Content-Type", "application/x-www-form-urlencoded")
                .POST(HttpRequest.BodyPublishers.ofString("Action=" + action + "&QueueUrl=" + queue + more)).build();
        var answer = CLIENT.send(request, BodyHandlers.ofInputStream());
        if (answer.statusCode() != 200) {
            throw new IllegalStateException(action + ": " + answer.statusCode());
        }
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(answer.body()).getDocumentElement();
    }

    private static String text(Element message, String name) {
        return message.getElementsByTagName(name).item(0).getTextContent();
    }

    public static void main(String[] words) throws Exception {
        while (true) {
            try {
                var messages = sqs("ReceiveMessage", "&WaitTimeSeconds=1").getElementsByTagName("Message");
                for (int i = 0; i < messages.getLength(); i++) {
                    Element message = (Element) messages.item(i);
                    QuernAdapter.handle(text(message, "Body"));
                    String handle = URLEncoder.encode(text(message, "ReceiptHandle"), StandardCharsets.UTF_8);
                    sqs("DeleteMessage", "&ReceiptHandle=" + handle);
                }
            } catch (Exception reason) {
                System.out.println("left: " + reason.getMessage());
                Thread.sleep(200);
            }
        }
    }
}
