// Package memorytest measures and checks what a host adds to memory.
//
// [Measure] puts questions with known answers to a recall and reports how much
// of them it found: the share at k, NDCG, the reciprocal rank, what fits into a
// budget of tokens, and whether its relevance tells questions that have no
// answer. No model judges anything.
//
//	report, err := memorytest.Measure(ctx, memorytest.Records(space, nil), questions, nil)
//	fmt.Print(report)
//
// [CheckSanitizer] holds a sanitizer, such as a redact.Sanitizer with patterns
// of the host, to the rules that memory relies on, and [CheckEmbedder] an
// Embedder.
package memorytest
