import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/** Stands for your handler under `quern check`: the effect sink does the work, and says how it went. */
public final class QuernAdapter {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    /** Takes the text of a message. It returns: delete the message. It throws: leave it. */
    public static void handle(String body) throws IOException, InterruptedException {
        var url = URI.create(System.getenv("QUERN_SINK_URL") + "/v1/handle");
        var request = HttpRequest.newBuilder(url).timeout(Duration.ofSeconds(60))
                .POST(HttpRequest.BodyPublishers.ofString(body)).build();
        var answer = CLIENT.send(request, BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IOException("status " + answer.statusCode() + ": " + answer.body());
        }
    }
}
