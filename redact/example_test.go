package redact_test

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/arc-learn/arc/redact"
)

func ExampleSanitizer() {
	var s redact.Sanitizer
	fmt.Println(s.Sanitize("password=hunter2 next"))
	fmt.Println(s.Sanitize("curl https://bob:s3cret@example.com/v1"))
	fmt.Println(s.Sanitize("token := lexer.Next()"))
	// Output:
	// password=[REDACTED:password] next
	// curl https://[REDACTED:url_credentials]@example.com/v1
	// token := lexer.Next()
}

func ExampleSanitizer_JSON() {
	s := new(redact.Sanitizer).WithEmails()
	fmt.Printf("%s\n", s.JSON(json.RawMessage(`{"api_key":123,"note":"ask ann@example.com","tokens":12}`)))
	// Output:
	// {"api_key":"[REDACTED:secret]","note":"ask [REDACTED:email]","tokens":12}
}

func ExampleNew() {
	s, err := redact.New(&redact.Options{Patterns: []redact.Pattern{
		{Kind: "employee", Expr: regexp.MustCompile(`\bEMP-\d{6}\b`)},
	}})
	fmt.Println(s.Sanitize("assigned to EMP-123456"), err)

	_, err = redact.New(&redact.Options{Patterns: []redact.Pattern{{Kind: "Employee"}}})
	fmt.Println(err)
	// Output:
	// assigned to [REDACTED:employee] <nil>
	// redact: pattern 0: kind "Employee", group 0: bad pattern
}
