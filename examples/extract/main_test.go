package main

func Example() {
	main()
	// Output:
	// Ann home: Lyon
	// no longer: Ann home: Paris
	// said: Boxes everywhere, but Lyon has the better bread.
}
