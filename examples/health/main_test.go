package main

func Example() {
	main()
	// Output:
	// HEALTHY
	// memory     16: 2 patterns, 14 failures, 0 facts, 0 episodes
	//            0 archived, 0 quarantined
	// effective  1.00, by feedback on 6 of them
	// uplift     helps by +47.5 points (+7.8 to +87.1; 100 % of 91 with, 52 % of 29
	//            without)
	// confidence off by 0.07 on average (Brier 0.11, 120 claims)
	// resonance  ████████████████████████████████████████████████████████████████ 0.95
	// worker     cook: 106 of 120 delivered, p50 1s, p95 1s, $0.0000
	// of that, the recipe alone: cannot tell yet: 31 with, 7 without
}
