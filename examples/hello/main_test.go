package main

func Example() {
	main()
	// Output:
	// delivered asked: 1 fired: 0
	// delivered asked: 1 fired: 0
	// delivered asked: 0 fired: 1
}
