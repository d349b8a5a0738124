package main

import (
	"context"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
)

func Example() {
	main()
	// Output:
	// Why did the restore take four hours?
	// (12 paragraphs; words stand as stems, with their weight in the question)
	//
	// 1. backups.md, under "Backups > Restoring"
	//    | A restore took four hours in May, because the dump was compressed with one
	//    | thread. Since then it is compressed with all of them.
	//    score 0.51: relevance 0.73, effectiveness 0.50, recency 0.00
	//    has four 23%, hour 23%, restor 19%, the 2%
	//    lacks take 27%, whi 3%, did 3%
	//    rank 1 of 7: its score by words is near the best, so effectiveness and
	//    recency count too
	//
	// 2. backups.md, under "Backups > Restoring"
	//    | Stop the application before a restore, or it writes into the old database.
	//    score 0.26: relevance 0.51, effectiveness 0.50, recency 0.00
	//    has restor 19%, the 2%
	//    lacks take 27%, four 23%, hour 23%, whi 3%, did 3%
	//    rank 2 of 7: its score by words is below 0.8 of the best, so nothing else
	//    counts
	//
	// 3. backups.md, under "Backups > Restoring"
	//    | stop app && restore /backup/latest && start app
	//    score 0.19: relevance 0.37, effectiveness 0.50, recency 0.00
	//    has restor 19%
	//    lacks take 27%, four 23%, hour 23%, whi 3%, did 3%, the 2%
	//    rank 3 of 7: its score by words is below 0.8 of the best, so nothing else
	//    counts
	//
	// By file: backups.md 0.32
	//
	// And deploy.md? The best of it:
	//    score 0.00: relevance 0.00, effectiveness 0.50, recency 0.00
	//    has the 2%
	//    lacks take 27%, four 23%, hour 23%, restor 19%, whi 3%, did 3%
	//    it has no word of the query, nor has what is around it in its Thread,
	//    function words aside
}

func Example_nothing() {
	files := fstest.MapFS{"a.md": {Data: []byte("# Tea\n\nGreen tea wants 70 degrees.\n")}, "b.png": {}}
	err := run(context.Background(), os.Stdout, files, memory.Query{Text: "passport"}, "c.md")
	if err != nil {
		panic(err)
	}
	// Output:
	// passport
	// (1 paragraphs; words stand as stems, with their weight in the question)
	//
	// Nothing in the notes is about that.
	// There is no c.md among the notes.
}

func TestParagraphs(t *testing.T) {
	t.Parallel()
	text := "intro\r\n\r\n# A\n\none\nline\n\n## B\n#hashtag\n```\nx\n\n# no heading\n```\n# C\n### D\nlast"
	require.Equal(t, []paragraph{
		{"", "intro"},
		{"A", "one\nline"},
		{"A > B", "#hashtag\n```\nx\n\n# no heading\n```"},
		{"C > D", "last"},
	}, paragraphs(text))
	require.Empty(t, paragraphs("\n# only a heading\n"))
}
