// Package embed has embedders that need no server: [Static] averages the token
// vectors of a model2vec file, [Hashed] needs no model at all.
//
// Neither comes near a large embedding model. A static model knows that
// "car" and "automobile" are alike, but not what a sentence says about them.
// Hashed knows spelling only: it forgives typing errors and inflection.
//
//	model, err := embed.Open(os.DirFS("potion-base-8M"), nil)
//	vectors, err := model.Embed(ctx, []string{"the build is broken"})
package embed
