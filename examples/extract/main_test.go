package main

func Example() {
	main()
	// Output:
	// Ann home: Lyon
	// no longer: Ann home: Paris
	// said: Boxes everywhere, but Lyon has the better bread.
	// perhaps replaced: false: Boxes everywhere, but Lyon has the better bread.
	// perhaps replaced: true: The new flat is in Paris, fourth floor.
}
