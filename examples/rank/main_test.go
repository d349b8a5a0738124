package main

func Example() {
	main()
	// Output:
	// observed, for a typo:
	// 1. thorough 1.2167: 60 of 60 outcomes known: success +1.667, confidence +0, wall time -0.45
	// 2. quick 1.19: 60 of 60 outcomes known: success +1.2, confidence +0, wall time -0.01; 0.0267 behind the first, most of it success
	// 3. newcomer 1: the card's prior 1, with 0 of the 5 known outcomes that trust takes; 0.2167 behind the first
	//
	// observed, for a redesign:
	// 1. thorough 1.2167: 60 of 60 outcomes known: success +1.667, confidence +0, wall time -0.45
	// 2. quick 1.19: 60 of 60 outcomes known: success +1.2, confidence +0, wall time -0.01; 0.0267 behind the first, most of it success
	// 3. newcomer 1: the card's prior 1, with 0 of the 5 known outcomes that trust takes; 0.2167 behind the first
	//
	// learned, for a typo:
	// 1. quick 0.9572: worth 0.5751 by about 60 samples, +0.3822 for the context, +0 by the draw
	// 2. newcomer 0.6663: worth 0.6459 by about 0 samples, +0.0205 for the context, +0 by the draw; 0.2909 behind the first, most of it context
	// 3. thorough 0.542: worth 0.6941 by about 60 samples, -0.1521 for the context, +0 by the draw; 0.4152 behind the first, most of it context
	//
	// learned, for a redesign:
	// 1. thorough 0.8638: worth 0.6941 by about 60 samples, +0.1697 for the context, +0 by the draw
	// 2. newcomer 0.6204: worth 0.6459 by about 0 samples, -0.0255 for the context, +0 by the draw; 0.2434 behind the first, most of it context
	// 3. quick 0.1797: worth 0.5751 by about 60 samples, -0.3953 for the context, +0 by the draw; 0.684 behind the first, most of it context
}
