package search_test

import (
	"fmt"

	"github.com/rootbound/rootbound/search"
)

func ExampleCompile() {
	p, err := search.Compile("src/**/*.{go,mod}")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Match("src/main.go"), p.Match("src/a/b/x.mod"), p.Match("main.go"))
	// Output: true true false
}
