package main

import (
	"fmt"
	"os"
	"unicode/utf8"
)

// readText reads a file that a person writes.
func readText(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s is not UTF-8: it is neither read nor changed; save it as UTF-8", file)
	}
	return string(data), err
}
