package main

import "os"

func main() { println("hello") }
