package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkReadAudited reports the ratio of the medians of reads with and without an audit log, in rounds that take turns.
func BenchmarkReadAudited(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(dir+"/a.txt", []byte(strings.Repeat("0123456789abcde\n", 256)), 0o644); err != nil {
		b.Fatal(err)
	}
	log := b.TempDir() + "/audit.jsonl"
	servers := []*driver{
		drive(b, "rootbound", "serve", "--confine=off", "--audit", log, dir),
		drive(b, "rootbound", "serve", "--confine=off", dir),
	}
	const params = `{"name":"read_text_file","arguments":{"path":"a.txt"}}`
	var t [2][]time.Duration
	for b.Loop() {
		for i, d := range servers {
			for range 20 {
				start := time.Now()
				if line := d.call(b, "tools/call", params); strings.Contains(line, "isError") {
					b.Fatal(line)
				}
				t[i] = append(t[i], time.Since(start))
			}
		}
	}
	if st, err := os.Stat(log); err != nil || st.Size() == 0 {
		b.Fatal("nothing was recorded", err)
	}
	for i := range t {
		slices.Sort(t[i])
	}
	median := func(i int) time.Duration { return t[i][len(t[i])/2] }
	b.ReportMetric(float64(median(0).Nanoseconds()), "audited-ns")
	b.ReportMetric(float64(median(1).Nanoseconds()), "plain-ns")
	b.ReportMetric(float64(median(0))/float64(median(1)), "ratio")
	b.ReportMetric(0, "ns/op")
}
