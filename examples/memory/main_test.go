package main

func Example() {
	main()
	// Output:
	// Where does Alice live?
	//   I moved to Berlin. (relevance 0.95)
	//   no longer: I live in Paris.
	// Where does Alice live? As of July.
	//   I live in Paris. (relevance 0.95)
	// How does Alice cope with noise?
	//   I sleep with earplugs. (relevance 0.72)
	// Who won the chess tournament?
	//   not known
	// Why not Paris?
	//   it is superseded, and gave its place to what supersedes it
}
