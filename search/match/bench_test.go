package match_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/search/match"
)

// corpus is 16 MiB of Go's own sources, file by file.
func corpus(b *testing.B) (files [][]byte, size int64) {
	b.Helper()
	_ = filepath.WalkDir(filepath.Join(runtime.GOROOT(), "src"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		if text, err := os.ReadFile(p); err == nil && bytes.IndexByte(text, 0) < 0 {
			files = append(files, text)
			size += int64(len(text))
		}
		if size > 16<<20 {
			return fs.SkipAll
		}
		return nil
	})
	if size == 0 {
		b.Skip("no Go sources on this machine")
	}
	return files, size
}

func bench(b *testing.B, pattern string, o match.Options) {
	files, size := corpus(b)
	m := compile(b, pattern, o)
	var buf match.Buffer
	hits := 0
	b.SetBytes(size)
	for b.Loop() {
		hits = 0
		for _, text := range files {
			st, err := match.Scan(context.Background(), bytes.NewReader(text), m, match.ScanOptions{Size: int64(len(text))}, &buf, func(match.Hit) bool { return true })
			if err != nil {
				b.Fatal(err)
			}
			hits += st.Hits
		}
	}
	b.ReportMetric(float64(hits), "hits")
}

func BenchmarkLiteral(b *testing.B) { bench(b, "FooHandler", match.Options{Literal: true}) }
func BenchmarkLiteralCommon(b *testing.B) {
	bench(b, "return nil, etaoin", match.Options{Literal: true})
}
func BenchmarkIgnoreCase(b *testing.B) {
	bench(b, "foohandler", match.Options{Literal: true, IgnoreCase: true})
}
func BenchmarkWord(b *testing.B)     { bench(b, "Handler", match.Options{Literal: true, Word: true}) }
func BenchmarkRequired(b *testing.B) { bench(b, `func\s+\w+FooHandler\(`, match.Options{}) }
func BenchmarkAlternatives(b *testing.B) {
	bench(b, `FIXME|XXXX|HACK`, match.Options{})
}
func BenchmarkNone(b *testing.B)       { bench(b, `[A-Za-z]+[0-9]{7,}[a-z]`, match.Options{}) }
func BenchmarkNoneRest(b *testing.B)   { bench(b, `[A-Z]{5}[0-9]{5}[A-Z]{5}`, match.Options{}) }
func BenchmarkNoneHits(b *testing.B)   { bench(b, `\b[A-Z]{6,}\b`, match.Options{}) }
func BenchmarkNoneAnchor(b *testing.B) { bench(b, `^[A-Z]+[0-9]+$`, match.Options{}) }

// BenchmarkListed is every pattern of testdata/regexps.txt.
func BenchmarkListed(b *testing.B) {
	for _, l := range readListed(b) {
		b.Run(strings.ReplaceAll(l.String(), "/", "_"), func(b *testing.B) { bench(b, l.pattern, l.options()) })
	}
}
