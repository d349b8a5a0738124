package redact

// Work returns the number of bytes that a scan of text looks at where nothing
// but the text bounds it, and of the places where it stops to look around.
func Work(text string) int {
	sc := scanner{text: text, m: builtin}
	sc.scan()
	return sc.work
}
