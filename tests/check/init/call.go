package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	body, _ := io.ReadAll(os.Stdin)
	if err := QuernHandle(string(body)); err != nil {
		fmt.Println("left", err)
	} else {
		fmt.Println("done")
	}
}
