package main

func Example() {
	main()
	// Output:
	// 1 recalled
	// 2 decided (water first)
	// 3 attempt: cook, task 1, attempt 1
	// 4 executed: cook, task 1, attempt 1 (finished)
	// 5 verified: cook, task 1, attempt 1
	// 6 attempt: cook, task 2, attempt 1
	// 7 executed: cook, task 2, attempt 1 (finished)
	// 8 verified: cook, task 2, attempt 1 (it needs salt)
	// 9 attempt: cook, task 2, attempt 2 (it needs salt)
	// 10 executed: cook, task 2, attempt 2 (finished)
	// 11 verified: cook, task 2, attempt 2
	// 12 learned: cook, task 2, attempt 2
	// 13 delivered: cook, task 2, attempt 2
	// 14 finished (delivered)
}
