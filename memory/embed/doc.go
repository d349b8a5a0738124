// Package embed has an embedder that needs neither a model nor a server:
// [Hashed] compares the spelling of words.
//
// Hashed finds "deployments failing" from "the deployment failed", and forgives
// typing errors. It does not know meanings: "car" and "automobile" share no
// spelling. The module contrib/embed reads model files that know some.
//
//	bank, err := memory.Open(ctx, st, &memory.Options{Embedder: embed.Hashed{}})
package embed
