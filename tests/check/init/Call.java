/** Works on one body, its input. */
public final class Call {
    public static void main(String[] words) throws Exception {
        String body = new String(System.in.readAllBytes(), "UTF-8");
        try {
            QuernAdapter.handle(body);
        } catch (java.io.IOException reason) {
            System.err.println("left: " + reason.getMessage());
            System.exit(75);
        }
    }
}
