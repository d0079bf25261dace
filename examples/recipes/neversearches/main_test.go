package main

func Example() {
	main()
	// Output:
	// set                     tool in sight  tokens of tools
	// nothing                       0 of 24              469
	// AlwaysLoaded: usual           3 of 24             1348
	// Preselect: 1                  9 of 24              580
	// Preselect: 3                 14 of 24              808
	// Preselect: 5                 19 of 24             1021
	// Preselect: 10                20 of 24             1571
	// both, 5                      21 of 24             1858
	// all tools                    24 of 24            18210
}
