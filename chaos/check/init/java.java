import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Stands for your handler under `quern check`: the effect sink does the work, and says how it went. */
public final class QuernAdapter {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    /** Takes the text of a message. It returns: delete the message. It throws: leave it. */
    public static void handle(String body) throws Exception {
        String version = find(body, "\"schemaVersion\"\\s*:\\s*(\\d+)");
        String key = find(body, "\"idempotencyKey\"\\s*:\\s*\"([^\"]*)\"");
        String id = find(body, "\"payload\"\\s*:\\s*\\{\\s*\"id\"\\s*:\\s*\"([^\"]*)\"");
        int status;
        if (version == null || key == null || id == null || !body.trim().endsWith("}")) {
            // Not ours: can never succeed; do here what you do with such. Recorded before it is deleted.
            status = post("/v1/rejects", body, null);
        } else if (!version.equals("1")) {
            throw new IllegalArgumentException("a version that this build does not know");
        } else {
            status = post("/v1/effects", body, key);
        }
        if (status == 422) { // never; recorded before the message is deleted
            status = post("/v1/rejects", "{\"id\":\"" + id + "\",\"reason\":\"permanent\"}", null);
        }
        if (status != 200) {
            throw new IllegalStateException("status " + status); // may succeed later
        }
    }

    // With the JSON library of your project this is one line.
    private static String find(String body, String pattern) {
        Matcher found = Pattern.compile(pattern).matcher(body);
        return found.find() ? found.group(1) : null;
    }

    private static int post(String path, String body, String key) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(System.getenv("QUERN_SINK_URL") + path))
                .timeout(Duration.ofSeconds(60))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body));
        if (key != null) {
            request.header("Idempotency-Key", key);
        }
        return CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString()).statusCode();
    }
}
