// Package embed reads model2vec files: embedders that run in the process, with
// no server and no C library.
//
//	model, err := embed.Open(os.DirFS("potion-base-8M"), nil)
//	vectors, err := model.Embed(ctx, []string{"the build is broken"})
//
// A [Static] model is a table: one vector for each token. The vector of a text
// is the mean of its tokens' vectors, so the order of words does not count. It
// knows that "car" and "automobile" are alike, and not what a sentence says about
// them; a large embedding model knows both.
//
// A Static is a memory.Embedder: pass it as Options.Embedder of a memory.Bank.
// It is immutable and safe for concurrent use. A host without a model file takes
// Hashed of memory/embed, which compares spellings.
//
// Open refuses a file that asks for more than this package has (BPE tokenizers,
// byte fallback): an embedding that differs from the model's own code would be
// wrong in silence.
package embed
