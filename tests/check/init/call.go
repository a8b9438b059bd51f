package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	body, _ := io.ReadAll(os.Stdin)
	if err := QuernHandle(string(body)); err != nil {
		fmt.Fprintln(os.Stderr, "left:", err)
		os.Exit(75)
	}
}
