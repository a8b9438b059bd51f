// Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

var quernClient = &http.Client{Timeout: 60 * time.Second}

// QuernHandle takes the text of a message. On nil delete the message, on an error leave it.
func QuernHandle(body string) error {
	var message struct {
		SchemaVersion  int
		IdempotencyKey string
		Payload        struct{ ID string }
	}
	if json.Unmarshal([]byte(body), &message) != nil || message.IdempotencyKey == "" {
		// Not ours: can never succeed; do here what you do with such. Recorded before it is deleted.
		return quernDone(quernPost("/v1/rejects", []byte(body), ""))
	}
	if message.SchemaVersion != 1 {
		return fmt.Errorf("version %d, which this build does not know", message.SchemaVersion)
	}
	status, err := quernPost("/v1/effects", []byte(body), message.IdempotencyKey)
	if err == nil && status == 422 { // never; recorded before the message is deleted
		record, _ := json.Marshal(map[string]string{"id": message.Payload.ID, "reason": "permanent"})
		status, err = quernPost("/v1/rejects", record, "")
	}
	return quernDone(status, err)
}

func quernDone(status int, err error) error {
	if err == nil && status != 200 {
		err = fmt.Errorf("status %d", status) // may succeed later
	}
	return err
}

func quernPost(path string, body []byte, key string) (int, error) {
	request, err := http.NewRequest("POST", os.Getenv("QUERN_SINK_URL")+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	answer, err := quernClient.Do(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
