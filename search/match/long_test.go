package match_test

import "os"

// long asks for the forms of the tests that take minutes.
var long = os.Getenv("RB_LONG") == "1"
