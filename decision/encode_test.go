package decision

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rootbound/rootbound"
)

var update = flag.Bool("update", false, "write the golden files")

// samples are records as the rooms above make them, one for each golden file.
func samples() map[string]*Record {
	base := Record{
		Time:      time.Date(2026, 11, 29, 10, 11, 12, 345678900, time.UTC),
		Authority: Authority{ID: "5f0c", Generation: 3, State: "current", Source: "roots", Declared: true, ListChanged: true, RootsDigest: "r1", ProjectDigest: "p1", PolicyDigest: "c1"},
		Session:   Session{ID: "s-1", Era: "legacy", Protocol: "2025-11-25", Transport: "stdio", Client: "host", ClientVer: "1.2"},
		Server:    Server{UID: 1000, GID: 1000, PID: 4242, Version: "0.1.0", Confine: "landlock abi 7: files below 1 directory", Tier: "openat2"},
		Method:    "tools/call", Tool: "read_text_file", RequestID: "7", Correlate: "c-9", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
		Enforced: true,
	}
	with := func(change func(*Record)) *Record {
		r := base
		change(&r)
		return &r
	}
	file := &Object{Dev: 64768, Ino: 1234, Mount: 29, Type: "file", FS: "ext4", Links: 1}
	dir := &Object{Dev: 64768, Ino: 99, Mount: 29, Type: "directory", FS: "ext4", Links: 2}
	return map[string]*Record{
		"read-decided": with(func(r *Record) {
			r.ID, r.Phase, r.Operation, r.Rights = "a-1", Decided, rootbound.OpRead, []string{"read"}
			r.Project, r.Root, r.PathSent, r.Path, r.Canonical, r.Object, r.Decision = "app", "app", "src/../src/main.go", "src/main.go", "exact", file, Allow
		}),
		"read-completed": with(func(r *Record) {
			r.ID, r.Phase, r.Operation, r.Decision = "a-1", Completed, rootbound.OpRead, Allow
			r.Outcome = &Outcome{OK: true, Bytes: 4096, Duration: 152 * time.Microsecond}
		}),
		"move-decided": with(func(r *Record) {
			r.ID, r.Phase, r.Operation, r.Rights = "a-2", Decided, rootbound.OpMove, []string{"move", "delete", "create"}
			r.Project, r.PathSent, r.Path, r.Object, r.Parent = "app", "a.txt", "a.txt", file, dir
			r.DestSent, r.Dest, r.DestDir, r.DestRoot, r.Decision = "/srv/lib/a.txt", "a.txt", dir, "lib", Allow
		}),
		"denied": with(func(r *Record) {
			r.ID, r.Phase, r.Operation, r.PathSent, r.Canonical = "a-3", Decided, rootbound.OpWrite, "../../etc/passwd", "refused"
			r.Decision, r.Reason, r.Detail, r.Rules = Deny, rootbound.OutsideRoot, "dots", []string{"deny:**/secret/**"}
		}),
		"failed": with(func(r *Record) {
			r.ID, r.Phase, r.Operation, r.Decision = "a-4", Completed, rootbound.OpWrite, Allow
			r.Outcome = &Outcome{Reason: rootbound.IOError, Errno: "ENOSPC", Duration: time.Millisecond}
		}),
		"walk-completed": with(func(r *Record) {
			r.ID, r.Phase, r.Operation, r.Decision = "a-5", Completed, rootbound.OpSearch, Allow
			r.Outcome = &Outcome{OK: true, Counts: map[string]int64{"hits": 3, "entries": 500, "hidden": 2}, Stopped: "limit"}
		}),
		"published": with(func(r *Record) {
			r.ID, r.Phase, r.Method, r.Tool, r.RequestID = "a-6", Published, "", "", ""
			r.Roots = []Root{
				{URI: "file:///srv/app", Root: "app", Warn: "raw bytes"},
				{URI: "http://example.org/", Reason: rootbound.RootNotFile, Detail: "scheme"},
			}
		}),
		"stale": with(func(r *Record) { r.ID, r.Phase, r.Authority.State, r.Note = "a-7", Stale, "stale", "list_changed" }),
		"hostile-names": with(func(r *Record) {
			r.ID, r.Phase, r.Operation, r.Decision = "a-8", Decided, rootbound.OpRead, Allow
			r.PathSent, r.Path = "a\n\x1b[31m\u202egnp.\U000e0041\"\\", "bad\xff\\x41"
		}),
		"smallest": {ID: "a-9", Phase: Started},
	}
}

func TestGolden(t *testing.T) {
	for name, r := range samples() {
		golden := filepath.Join("testdata", name+".json")
		got := string(r.AppendJSON(nil)) + "\n"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s changed; the format is published, so this needs a new version of it:\n%s", name, cmp.Diff(string(want), got))
		}
	}
}

// plainRecord has Record's tags without its MarshalJSON.
type plainRecord Record

// TestEncodingMeansTheTags: what AppendJSON writes reads back as the record that went in, for a record with every field
// set, so that a field added to Record and forgotten in AppendJSON shows.
func TestEncodingMeansTheTags(t *testing.T) {
	full := new(Record)
	fill(reflect.ValueOf(full).Elem(), 1)
	full.Time = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	full.Schema = Schema
	records := samples()
	records["full"] = full
	for name, r := range records {
		if r.Schema == "" {
			r.Schema = Schema
		}
		if !utf8.ValidString(r.Path) {
			continue // JSON cannot hold it
		}
		want, err := json.Marshal((*plainRecord)(r))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(want, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(r.AppendJSON(nil), &b); err != nil {
			t.Errorf("%s: %v\n%s", name, err, r.AppendJSON(nil))
			continue
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("%s: encoding/json (-), AppendJSON (+):\n%s", name, d)
		}
	}
}

// fill sets every field to something that is not zero.
func fill(v reflect.Value, n int) int {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return n
		}
		for i := range v.NumField() {
			n = fill(v.Field(i), n)
		}
	case reflect.String:
		v.SetString("text" + string(rune('a'+n%26)))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		n = fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			n = fill(v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), reflect.ValueOf(int64(n)))
	default:
		panic("a kind that records did not have: " + v.Kind().String())
	}
	return n + 1
}

// FuzzText: any text gives one line of valid JSON without a byte that a terminal obeys, and valid text reads back as it
// was.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a/b.txt", "\x00\x1f\x7f", "\u202e\u2028\ufeff", "\xff\xfe\\", "\U000e0041\U0001f600", `"\`, "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := (&Record{ID: "x", Phase: Decided, PathSent: s, Rules: []string{s}}).AppendJSON(nil)
		if !json.Valid(line) || !utf8.Valid(line) {
			t.Fatalf("not JSON: %q", line)
		}
		if strings.ContainsFunc(string(line), rootbound.Hidden) {
			t.Fatalf("hidden character in %q", line)
		}
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(s) && (r.PathSent != s || s != "" && r.Rules[0] != s) {
			t.Fatalf("%q came back as %q", s, r.PathSent)
		}
		if !utf8.ValidString(s) && r.PathSent == strings.ToValidUTF8(s, "\ufffd") {
			t.Fatalf("bytes of %q were lost", s)
		}
	})
}

func TestReadFindsWhatCanBeFound(t *testing.T) {
	line := string((&Record{ID: "x", Phase: Stale}).AppendJSON(nil))
	for name, c := range map[string]struct {
		log             string
		records, broken int
	}{
		"empty":             {"", 0, 0},
		"no last line end":  {line, 1, 0},
		"blank lines":       {"\n" + line + "\n\n" + line + "\n", 2, 0},
		"cut last line":     {line + "\n" + line[:30], 1, 1},
		"cut, then ended":   {line[:30] + "\n" + line + "\n", 1, 1},
		"record behind cut": {line[:30] + line + "\n" + line + "\n", 2, 1},
		"another format":    {`{"schema":"rootbound.decision.v2"}` + "\n", 0, 1},
		"garbage":           {"\x00\x00\x00\n" + line + "\n", 1, 1},
		"too long":          {strings.Repeat("x", 17<<20) + "\n" + line + "\n", 1, 1},
	} {
		n := 0
		broken, err := Read(strings.NewReader(c.log), func(*Record) error { n++; return nil })
		if err != nil || n != c.records || broken != c.broken {
			t.Errorf("%s: %d records, %d broken, %v; want %d, %d", name, n, broken, err, c.records, c.broken)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	r := samples()["read-decided"]
	buf := r.AppendJSON(nil)
	b.ReportAllocs()
	for b.Loop() {
		buf = r.AppendJSON(buf[:0])
	}
}

// BenchmarkEncodingJSON is the rival of AppendJSON.
func BenchmarkEncodingJSON(b *testing.B) {
	r := samples()["read-decided"]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal((*plainRecord)(r)); err != nil {
			b.Fatal(err)
		}
	}
}
