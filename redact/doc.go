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
// It recognises authorization headers and bearer tokens; the tokens of over
// eighty issuers by their form ([Rules]: GitHub, GitLab, AWS, Azure, Google,
// OpenAI, Anthropic, Hugging Face, Slack, Stripe, npm and others); JSON web
// tokens (in base64 too), private key blocks (cut ones too), credentials in URLs
// and of curl; values assigned to a name that says secret: password, token,
// api_key and their relatives, in the notations of shells, query strings, JSON,
// YAML, XML, program source and plain sentences; and values that look drawn at
// random under names such as STRIPE_KEY, "auth" or heroku. A host adds rules and
// patterns of its own through [Options], and e-mail addresses by
// [Sanitizer.WithEmails]. What was found once is replaced wherever it stands in the
// same text. Values that the host knows are replaced by [Sanitizer.Knowing] in
// their encodings too, and can be put back.
//
// With a key ([Options], [Sanitizer.WithKey]) a tag stands behind the kind, as in
// [REDACTED:password:1f08c2d9]: equal secrets have equal tags, which say nothing
// of them without the key. The forms of tokens, the words that tell and what is no secret
// after all are tables: formats.txt, words.txt and exceptions.txt.
//
// Sanitising is idempotent, keeps valid UTF-8 valid, and takes time linear in
// the length of the text; a text without secrets comes back as it is, without
// an allocation. With the built-in kinds the result has at most 8 times the
// bytes of the text and 64 more. All methods are safe for concurrent use, also
// on a nil pointer.
//
// What is not there: decoding (a secret inside base64 or percent-encoding is
// not looked for), entropy tests on words without context, keys that are plain
// hex under a name that says nothing, and secrets that span two texts. Sanitise
// a text before it is cut into pieces.
package redact
