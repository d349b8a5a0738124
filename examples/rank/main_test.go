package main

func Example() {
	main()
	// Output:
	// Sixty edits were observed, every other one a redesign.
	//   quick     delivered 60 %, in  2 s each
	//   thorough  delivered 83 %, in 90 s each
	//   newcomer  was never tried; its card claims 1.00
	//
	// Observed sums up the last 200 samples, for any edit:
	//   1. thorough  1.22 = success +1.67, confidence +0.00, wall time -0.45
	//   2. quick     1.19 = success +1.20, confidence +0.00, wall time -0.01
	//   3. newcomer  1.00 = its card 1.00, trusted until 5 outcomes are known
	//
	// Learned estimates what a candidate is worth, for a typo:
	//   1. quick     0.96 = anywhere 0.57 (60 samples), in this situation +0.39
	//   2. newcomer  0.67 = anywhere 0.65 (0 samples), in this situation +0.02
	//   3. thorough  0.54 = anywhere 0.70 (60 samples), in this situation -0.16
	//
	// and for a redesign:
	//   1. thorough  0.86 = anywhere 0.70 (60 samples), in this situation +0.16
	//   2. newcomer  0.62 = anywhere 0.65 (0 samples), in this situation -0.03
	//   3. quick     0.18 = anywhere 0.57 (60 samples), in this situation -0.39
}
