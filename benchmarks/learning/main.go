// Command learning measures what memory is worth where work comes again, beside the same work without memory:
//
//	GOWORK=off go run . [-seeds 12] DIR
//
// DIR has repeats-dev.jsonl, of requests that come again and of others that look like them, and
// repair-dev.tar.gz, Go packages that are broken in one place each. Three tables:
//
//   - repeats: how often the plan of two or four deliveries fires for another case of its shape, and for a
//     trap;
//   - rounds: a hundred rounds with a library of plans that grows by one kind a round. The model is wrong in
//     a fifth of the cases, and the gate sees half of that; after fifty rounds 25 kinds want another plan,
//     and their gates say so;
//   - repair: ten programs that each mend one kind of break; the gate builds, vets and tests. The second
//     session has the packages of the first again. Without memory each package meets an Agent that knows
//     nothing.
package main

import (
	"flag"
	"log"
)

func main() {
	log.SetFlags(0)
	seeds := flag.Int("seeds", 12, "of the rounds")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("one DIR: see go doc")
	}
	for _, f := range []func() error{
		func() error { return repeats(flag.Arg(0)) },
		func() error { return rounds(*seeds) },
		func() error { return repair(flag.Arg(0)) },
	} {
		if err := f(); err != nil {
			log.Fatal(err)
		}
	}
}
