package main

func Example() {
	main()
	// Output:
	// export orders
	//   delivered attempts: 2
	// export returns
	//   warned: "," was refused, since a comma is a decimal point here; ";" passed
	//   delivered attempts: 1
	// export customers
	//   warned: "," was refused, since a comma is a decimal point here; ";" passed
	//   delivered attempts: 1
}
