public final class Call {
    public static void main(String[] words) throws Exception {
        String body = new String(System.in.readAllBytes());
        try {
            QuernAdapter.handle(body);
            System.out.println("done");
        } catch (RuntimeException reason) {
            System.out.println("left " + reason.getMessage());
        }
    }
}
