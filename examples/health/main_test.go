package main

func Example() {
	main()
	// Output:
	// HEALTHY
	// memory     39: patterns 2, failures 37, facts 0, episodes 0
	//            0 archived, 38 quarantined, 38 of these as lessons
	// effective  1.00, by feedback on 19 of them
	// uplift     helps by +73.1 points (+36.4 to +100.0; 100 % of 95 with, 28 % of 25
	//            without)
	// confidence off by 0.10 on average (Brier 0.14, claims 120)
	// resonance  ████████████████████████████████████████████████████████████████ 0.95
	// worker     cook: 102 of 120 delivered, p50 1s, p95 1s, $0.0000
	// of that, the recipe alone:
	//   helps by +73.1 points (+36.4 to +100.0; 100 % of 95 with, 28 % of 25 without)
}
