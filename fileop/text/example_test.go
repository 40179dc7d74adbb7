package text_test

import (
	"context"
	"fmt"

	"github.com/rootbound/rootbound/fileop/text"
)

func ExampleApply() {
	file := []byte("host = old\r\nport = 1\r\n")
	after, _, err := text.Apply(context.Background(), file, []text.Edit{{Old: "old\nport = 1", New: "new\nport = 2"}}, 1<<20)
	fmt.Printf("%q %v\n", after, err)

	_, _, err = text.Apply(context.Background(), file, []text.Edit{{Old: "port = 3", New: "port = 4"}}, 1<<20)
	fmt.Println(err)
	// Output:
	// "host = new\r\nport = 2\r\n" <nil>
	// the text to replace is not in the file [nearest: line 2 is "port = 1"] (edit_no_match). Read the file and send the text exactly as it stands there.
}
