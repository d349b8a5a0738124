package memory

// Feedback says what became of the records that were shown for a task.
type Feedback struct {
	// Key makes it idempotent: one Key counts once, for all time. Required,
	// at most 256 bytes.
	Key string
	// Injected are the records that were shown, Utilized those of them that
	// were used, Misled those that led astray. A record that is utilized but
	// was not injected is ignored, and so is an id that the scope does not
	// know. Misled outweighs Utilized.
	Injected, Utilized, Misled []ID
	// Delivered says that the task was delivered. If not, nobody helped and
	// nobody is blamed but Misled.
	Delivered bool
	// Situation is the situation that it counts for, besides the overall
	// counts; "": none. At most 256 bytes. A record keeps the last 32.
	Situation string
}
