// Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

var quernClient = &http.Client{Timeout: 60 * time.Second}

// QuernHandle takes the text of a message. On nil delete the message, on an error leave it.
func QuernHandle(body string) error {
	url := os.Getenv("QUERN_SINK_URL") + "/v1/handle"
	answer, err := quernClient.Post(url, "text/plain", strings.NewReader(body))
	if err == nil && answer.StatusCode != 200 {
		err = fmt.Errorf("status %s", answer.Status)
	}
	if answer != nil {
		answer.Body.Close()
	}
	return err
}
