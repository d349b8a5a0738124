// Package redact takes secrets out of text before the text is stored, indexed,
// embedded, logged, or put into an error.
//
// A [Sanitizer] replaces what it recognises by a fixed token that names the
// kind, as in [REDACTED:github_token]. Its zero value is ready:
//
//	var s redact.Sanitizer
//	s.Sanitize("password=hunter2 next") // password=[REDACTED:password] next
//	s.JSON(json.RawMessage(`{"api_key":123}`)) // {"api_key":"[REDACTED:secret]"}
//
// It recognises authorization headers and bearer tokens, keys with a known
// prefix (GitHub, OpenAI, Anthropic, Stripe, AWS, Google, Slack, npm, GitLab
// and others), JSON web tokens, private key blocks, credentials in URLs,
// e-mail addresses, and values assigned to a name that says secret: password,
// token, api_key and their relatives, in the notations of shells, query
// strings, JSON, YAML, XML, program source and plain sentences. A host adds
// its own patterns through [Options].
//
// Sanitising is idempotent, keeps valid UTF-8 valid, and takes time linear in
// the length of the text; a text without secrets comes back as it is, without
// an allocation. All methods are safe for concurrent use, also on a nil
// pointer.
//
// What is not there: decoding (a secret inside base64 or percent-encoding is
// not looked for), entropy tests on words without context, and secrets that
// span two texts. Sanitise a text before it is cut into pieces.
package redact
