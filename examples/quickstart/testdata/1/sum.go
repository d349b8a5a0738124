package main

func main() {
	println(1 + 2)
