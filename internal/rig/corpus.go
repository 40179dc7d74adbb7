package rig

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Corpus is a tree of text that is the same wherever it is made: 100,000 files of 400 MB in 6,249 directories, all three
// divided by Part if that is not 0. Needle stands in it 20 times, in files far apart.
type Corpus struct {
	Dir  string
	Part int
}

// Needle is a line that the corpus holds in 20 files, whatever its size.
const Needle = "func ServeFooHandler(w Writer, r *Reader) { // needle_zq81 here ABCDE12345FGHIJ x1234567y"

// rare are lines that few files end with, each one in some hundred.
var rare = []string{
	"// Copyright (c) 2019 The Authors. Distributed WITHOUT WARRANTY under the license below.",
	"package main", "type Tree struct {", "type Walker interface {", "sync.RWMutex", "\treturn nil, errors.New(\"no such handle\")",
	"\tfor _, value := range values {", "func TestTree(t *testing.T) {", "// TODO: the quick brown fox works at 30% of utf-8",
	"#include <stdio.h>", "\tif err != nil {", "version is 1.22.333", "${HOME_DIR} takes 250ms", "<a class=\"x\" href=\"/\">",
	"parseError at [0] of main ();", "\t\t\t\t\t\tdeep", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b is at 192.168.17.4", "README says QA and THE ANSWERIS", "bufferSize = 12",
	"\"a text between two marks that is rather long, longer than sixty bytes in any case\"", "trailing blanks  ", "HTTP2 in ABC123",
	"================", "αβγδ and Qx", "12345", "https://example.com/" + strings.Repeat("long/", 25),
	strings.Repeat("words and ", 20), "reader.ReadString(", "a b c and what else they distribute", "OneTwoThreeFourFiveSix", "qaz",
}

const (
	corpusFiles = 100_000
	corpusTops  = 24 // directories of the first level, and of the second in each
	corpusDirs  = 6_249
	corpusFile  = 4_000 // bytes of a file in the middle
)

// Make writes the tree below Dir.
func (c Corpus) Make() error {
	part := max(c.Part, 1)
	leaves := make([]string, (corpusDirs-corpusTops-corpusTops*corpusTops)/part)
	for i := range leaves {
		leaves[i] = fmt.Sprintf("%s/mod%02d/pkg%02d/part%02d", c.Dir, i%corpusTops, i/corpusTops%corpusTops, i/corpusTops/corpusTops)
		if err := os.MkdirAll(leaves[i], 0o755); err != nil {
			return err
		}
	}
	r := rand.New(rand.NewPCG(20, 81))
	pool, ends := prose(r)
	files := corpusFiles / part
	b := make([]byte, 0, 4*corpusFile)
	for i := range files {
		b = b[:0]
		for size := corpusFile/4 + r.IntN(corpusFile*3/2); len(b) < size; {
			l := r.IntN(len(ends) - 9)
			b = append(b, pool[ends[l]:ends[l+1+r.IntN(8)]]...)
		}
		if i%(files/20) == files/40 {
			b = append(append(b, Needle...), '\n')
		}
		if i%7 == 3 {
			b = append(append(b, rare[i/7%len(rare)]...), '\n')
		}
		name := fmt.Sprintf("file_%05d.%s", i, [...]string{"go", "go", "ts", "md", "txt", "json"}[i%6])
		if err := os.WriteFile(filepath.Join(leaves[i%len(leaves)], name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// prose is 2 MB of lines that look like sources, and where they end.
func prose(r *rand.Rand) (pool []byte, ends []int) {
	syllables := strings.Fields("re con tra ver pro ser min set get load store view edit path tree node hand ler list map key val ue byte line text file open close read write")
	words := make([]string, 3000)
	for i := range words {
		w := ""
		for range 1 + r.IntN(3) {
			w += syllables[r.IntN(len(syllables))]
		}
		words[i] = w
	}
	word := func() string { return words[r.IntN(len(words))] }
	title := func() string { w := word(); return strings.ToUpper(w[:1]) + w[1:] }
	ends = append(ends, 0)
	for len(pool) < 2<<20 {
		switch r.IntN(12) {
		case 0:
			pool = fmt.Appendf(pool, "func (%s *%s) %s(%s context.Context, %s int) error {", word()[:1], title(), title()+title(), word(), word())
		case 1:
			pool = fmt.Appendf(pool, "\tif err := %s.%s(%s, %d); err != nil {", word(), title(), word(), r.IntN(100000))
		case 2:
			pool = fmt.Appendf(pool, "\t\treturn fmt.Errorf(\"%s %s: %%w\", err)", word(), word())
		case 3:
			pool = fmt.Appendf(pool, "// %s %s %s the %s of a %s, %s and %s.", title(), word(), word(), word(), word(), word(), word())
		case 4:
			pool = fmt.Appendf(pool, "\t%s := %s[%q]", word(), word(), word()+"-"+word())
		case 5:
			pool = fmt.Appendf(pool, "const %s%s = 0x%08x", title(), title(), r.Uint32())
		case 6:
			pool = fmt.Appendf(pool, "  \"%s_%s\": \"%s %s %04d-%02d-%02d\",", word(), word(), word(), word(), 1990+r.IntN(40), 1+r.IntN(12), 1+r.IntN(28))
		case 7:
			pool = fmt.Appendf(pool, "import { %s, %s } from '../%s/%s';", title(), title(), word(), word())
		case 8:
			pool = append(pool, "\t}"...)
		case 9:
			pool = fmt.Appendf(pool, "see https://%s.example.com/%s/%s?id=%d or mail %s@%s.example", word(), word(), word(), r.IntN(1e6), word(), word())
		case 10:
			pool = fmt.Appendf(pool, "The %s %s of %s — naïve %s — costs %d.%02d € in %s.", word(), word(), title(), word(), r.IntN(1000), r.IntN(100), title())
		}
		pool = append(pool, '\n')
		ends = append(ends, len(pool))
	}
	return pool, ends
}
