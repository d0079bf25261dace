package main

func Example() {
	main()
	// Output:
	// set                     tool in sight  tokens of tools
	// nothing                       0 of 24              407
	// AlwaysLoaded: usual           3 of 24             1286
	// Preselect: 1                  9 of 24              518
	// Preselect: 3                 14 of 24              746
	// Preselect: 5                 19 of 24              959
	// Preselect: 10                20 of 24             1509
	// both, 5                      21 of 24             1796
	// all tools                    24 of 24            18210
}
