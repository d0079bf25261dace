package main

func Example() {
	main()
	// Output:
	// set                     tool in sight  tokens of tools
	// nothing                       0 of 24              445
	// AlwaysLoaded: usual           3 of 24             1324
	// Preselect: 1                  9 of 24              556
	// Preselect: 3                 14 of 24              784
	// Preselect: 5                 19 of 24              997
	// Preselect: 10                20 of 24             1547
	// both, 5                      21 of 24             1834
	// all tools                    24 of 24            18210
}
