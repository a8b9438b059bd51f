using System;
using System.Net.Http;
using System.Text;
using System.Text.Json;
using System.Threading.Tasks;

/// <summary>Stands for your handler under `quern check`: the effect sink does the work, and says how it went.</summary>
public static class QuernAdapter
{
    private static readonly HttpClient Client = new() { Timeout = TimeSpan.FromSeconds(60) };

    /// <summary>Takes the text of a message. It completes: delete the message. It throws: leave it.</summary>
    public static async Task HandleAsync(string body)
    {
        using var message = Read(body);
        if (message == null) // not ours: can never succeed; do here what you do with such
        {
            (await PostAsync("/v1/rejects", body, null)).EnsureSuccessStatusCode();
            return;
        }
        if (message.RootElement.GetProperty("schemaVersion").GetInt32() != 1)
        {
            throw new InvalidOperationException("a version that this build does not know");
        }
        var key = message.RootElement.GetProperty("idempotencyKey").GetString();
        var answer = await PostAsync("/v1/effects", body, key);
        if ((int)answer.StatusCode == 422) // never; recorded before the message is deleted
        {
            var id = message.RootElement.GetProperty("payload").GetProperty("id").GetString();
            answer = await PostAsync("/v1/rejects", JsonSerializer.Serialize(new { id, reason = "permanent" }), null);
        }
        answer.EnsureSuccessStatusCode(); // may succeed later
    }

    private static JsonDocument? Read(string body)
    {
        try
        {
            var message = JsonDocument.Parse(body);
            var root = message.RootElement;
            return root.ValueKind == JsonValueKind.Object && root.TryGetProperty("schemaVersion", out _)
                && root.TryGetProperty("idempotencyKey", out _) && root.TryGetProperty("payload", out _) ? message : null;
        }
        catch (JsonException)
        {
            return null;
        }
    }

    private static Task<HttpResponseMessage> PostAsync(string path, string body, string? key)
    {
        var url = Environment.GetEnvironmentVariable("QUERN_SINK_URL") + path;
        var request = new HttpRequestMessage(HttpMethod.Post, url)
        {
            Content = new StringContent(body, Encoding.UTF8, "application/json")
        };
        if (key != null) request.Headers.Add("Idempotency-Key", key);
        return Client.SendAsync(request);
    }
}
