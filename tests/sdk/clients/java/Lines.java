import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Lines in and out as sdk_clients.py says; each request is answered by a thread of its own. */
public final class Lines {
    /** Makes one call and says what came of it: {"output": ...} or {"error": ...}. */
    public interface Calls {
        JsonObject answer(String endpoint, String action, JsonObject members) throws Exception;
    }

    /** The client has no way to say this. */
    public static final class Lacks extends RuntimeException {
        public Lacks(String what) {
            super(what);
        }
    }

    private static final Gson GSON = new GsonBuilder().disableHtmlEscaping().create();
    private static final PrintStream OUT =
            new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);

    private Lines() {}

    public static void serve(String client, Calls calls) throws IOException {
        System.setOut(System.err); // what a library prints is no answer
        say(object("client", GSON.toJsonTree(client)));
        ExecutorService threads = Executors.newCachedThreadPool();
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            threads.execute(() -> answer(request, calls));
        }
        System.exit(0); // also when a poll is still under way
    }

    private static void answer(JsonObject request, Calls calls) {
        JsonObject reply;
        try {
            reply = calls.answer(
                    request.get("endpoint").getAsString(),
                    request.get("action").getAsString(),
                    request.getAsJsonObject("members"));
        } catch (Lacks lacks) {
            reply = object("lacks", GSON.toJsonTree(lacks.getMessage()));
        } catch (Throwable trouble) { // everything else is for the test to judge
            reply = object("broken", GSON.toJsonTree(trouble.toString()));
        }
        reply.add("id", request.get("id"));
        say(reply);
    }

    public static JsonObject object(String name, com.google.gson.JsonElement value) {
        var object = new JsonObject();
        object.add(name, value);
        return object;
    }

    private static void say(JsonObject line) {
        synchronized (OUT) {
            OUT.println(GSON.toJson(line));
            OUT.flush();
        }
    }
}
