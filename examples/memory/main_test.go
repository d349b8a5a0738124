package main

func Example() {
	main()
	// Output:
	// Where does Alice live?
	//   I moved to Berlin. (0.98)
	//   and not any more: I live in Paris.
	// Where does Alice live? As of July.
	//   I live in Paris. (0.98)
	// How does Alice cope with noise?
	//   I sleep with earplugs. (0.73)
	// Who won the chess tournament?
	//   nothing
	// Paris: it is superseded, and gave its place to what supersedes it
}
