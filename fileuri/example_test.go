package fileuri_test

import (
	"fmt"

	"github.com/rootbound/rootbound/fileuri"
)

func Example() {
	path, _, err := fileuri.Posix.Parse("file:///home/u/my%20proj%231")
	fmt.Println(path, err)
	_, _, err = fileuri.Posix.Parse("file:///home/u/my proj#1")
	fmt.Println(err)
	fmt.Println(fileuri.Posix.Format("/home/u/100%"))
	// Output:
	// /home/u/my proj#1 <nil>
	// the root's URI is not valid here [fragment] (root_uri_invalid). Declare the folder as file:///absolute/path, encoded once.
	// file:///home/u/100%25
}
