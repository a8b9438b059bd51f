using System;
using System.Net.Http;
using System.Threading.Tasks;

/// <summary>Stands for your handler under `quern check`: the effect sink does the work, and says how it went.</summary>
public static class QuernAdapter
{
    private static readonly HttpClient Client = new() { Timeout = TimeSpan.FromSeconds(60) };

    /// <summary>Takes the text of a message. It completes: delete the message. It throws: leave it.</summary>
    public static async Task HandleAsync(string body)
    {
        var url = Environment.GetEnvironmentVariable("QUERN_SINK_URL") + "/v1/handle";
        using var answer = await Client.PostAsync(url, new StringContent(body));
        answer.EnsureSuccessStatusCode();
    }
}
