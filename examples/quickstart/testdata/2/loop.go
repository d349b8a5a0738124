package main

func main() {
	for i := range 3 {
		println(i)
	}
