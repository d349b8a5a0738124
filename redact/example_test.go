package redact_test

import (
	"encoding/json"
	"fmt"

	"github.com/arc-learn/arc/redact"
)

func Example() {
	s, err := redact.New(nil).With(map[string]string{"DB": "Tr0ub4dor&3"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Prose("psql postgres://svc:Tr0ub4dor&3@db/app fails, password=hunter2 too"))
	inputs := s.Data(json.RawMessage(`{"dsn":"svc:Tr0ub4dor&3@db"}`))
	fmt.Println(string(inputs))
	filled, missing := redact.Fill(inputs, inputs, map[string]string{"DB": "Tr0ub4dor&3"})
	fmt.Println(string(filled), missing)
	// Output:
	// psql postgres://svc:[secret DB]@db/app fails, password=[redacted:secret] too
	// {"dsn":"svc:[secret DB]@db"}
	// {"dsn":"svc:Tr0ub4dor&3@db"} []
}
