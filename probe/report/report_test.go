package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rootbound/rootbound/probe"
	"github.com/rootbound/rootbound/probe/report"
)

// hostile is what a server under test may say.
const hostile = "</script><script>alert(1)</script>\x1b[2J]]> | `x` \u202e"

func sample(name string) *probe.Report {
	return &probe.Report{
		Schema: probe.SchemaName, Started: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), ElapsedMS: 1234,
		Server: probe.Subject{Name: name, Version: "1", Command: []string{"x", "{app}"}, Transport: "stdio", Profile: "p", Tools: map[string]string{"read": "read_file"}, Unmapped: []string{"delete"}, Eras: []string{"legacy", "modern"}},
		Cases: []probe.Outcome{
			{ID: "S01", Family: "sixteen", Era: "legacy", Verdict: probe.Held, Want: "allow", Got: "done", What: "list", Why: "because"},
			{ID: "S01", Family: "sixteen", Era: "modern", Verdict: probe.Fell, Want: "allow", Got: hostile, What: "list", Why: "because", Mend: "so", Ref: "https://example.com",
				Evidence: []string{hostile}, Transcript: []probe.Line{{Who: "server", AtMS: 1, Text: hostile}}},
			{ID: "D01", Family: "disclosure", Era: "legacy", Verdict: probe.Skipped, Want: "deny", Got: "no tool for read", What: "path", Why: "because"},
			{ID: "D02", Family: "disclosure", Era: "legacy", Verdict: probe.Failed, Want: "deny", Got: "no handshake", What: "path", Why: "because"},
		},
		Summary: probe.Summary{Held: 1, Fell: 1, Skipped: 1, Error: 1},
	}
}

func write(t *testing.T, format string, reports ...*probe.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, format, reports...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestJSONFitsTheSchema(t *testing.T) {
	raw, err := os.ReadFile("../../schema/rootbound.probe.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := write(t, "json", sample("a"))
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(v); err != nil {
		t.Error(err)
	}
	v.(map[string]any)["cases"].([]any)[0].(map[string]any)["verdict"] = "passed"
	if r.Validate(v) == nil {
		t.Error("the schema takes any verdict")
	}
	back, err := report.Read(strings.NewReader(text))
	if err != nil || len(back.Cases) != 4 || back.Cases[1].Got != strings.ToValidUTF8(hostile, "") {
		t.Errorf("read back: %v %+v", err, back)
	}
	if _, err := report.Read(strings.NewReader(`{"schema":"other"}`)); err == nil {
		t.Error("another document is taken for a report")
	}
}

func TestJUnitIsXML(t *testing.T) {
	text := write(t, "junit", sample("a"))
	var v struct {
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Suites   []struct {
			Cases []struct {
				Failure *struct{} `xml:"failure"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	if v.Failures != 1 || v.Errors != 1 || len(v.Suites) != 2 || v.Suites[0].Cases[1].Failure == nil || v.Suites[1].Cases[0].Skipped == nil {
		t.Errorf("%+v", v)
	}
}

func TestSARIFNamesWhatFell(t *testing.T) {
	var v struct {
		Version string
		Runs    []struct {
			Results []struct{ RuleID, Level string }
			Tool    struct {
				Driver struct{ Rules []struct{ ID string } }
			}
		}
	}
	if err := json.Unmarshal([]byte(write(t, "sarif", sample("a"))), &v); err != nil {
		t.Fatal(err)
	}
	if v.Version != "2.1.0" || len(v.Runs[0].Results) != 2 || v.Runs[0].Results[0].RuleID != "S01" || v.Runs[0].Results[0].Level != "error" || len(v.Runs[0].Tool.Driver.Rules) != 3 {
		t.Errorf("%+v", v)
	}
}

// TestTextsOfAServerStayText: what a server says must not steer a terminal, a table or a page.
func TestTextsOfAServerStayText(t *testing.T) {
	for _, format := range []string{"json", "junit", "sarif"} {
		for _, bad := range []string{"\x1b", "\u009b", "\u202e"} {
			if text := write(t, format, sample("a\u009b")); strings.Contains(text, bad) {
				t.Errorf("%s holds %q", format, bad)
			}
		}
	}
	for _, format := range []string{"table", "markdown", "html"} {
		text := write(t, format, sample("a"), sample("b"))
		for _, bad := range []string{"\x1b", "\u202e", "<script>alert"} {
			if strings.Contains(text, bad) && (format != "table" || bad != "<script>alert") {
				t.Errorf("%s holds %q", format, bad)
			}
		}
	}
	if strings.Contains(report.Line(sample("a").Cases[1]), "\x1b") {
		t.Error("the live line holds an escape")
	}
}

// TestPageStandsAlone: nothing is loaded, every cell opens by keyboard, both servers have a column.
func TestPageStandsAlone(t *testing.T) {
	text := write(t, "html", sample("first"), sample("second"))
	for _, want := range []string{"first 1", "second 1", "<details", "<summary", "Why it matters", `aria-label="S01 modern: fell, details"`, "default-src 'none'"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, not := range []string{"src=", "href=", "@import", "url("} {
		if strings.Contains(text, not) {
			t.Errorf("the page loads something: %s", not)
		}
	}
}

func TestOneReportOnly(t *testing.T) {
	for _, format := range []string{"json", "junit", "sarif"} {
		if report.Write(&bytes.Buffer{}, format, sample("a"), sample("b")) == nil {
			t.Errorf("%s took two reports", format)
		}
	}
	if report.Write(&bytes.Buffer{}, "pdf", sample("a")) == nil || report.Write(&bytes.Buffer{}, "table") == nil {
		t.Error("a format or a report that does not exist was written")
	}
}

// TestHostileReports: a report for --compare may be somebody else's.
func TestHostileReports(t *testing.T) {
	for text, want := range map[string]string{
		``:                                "EOF",
		`[]`:                              "no report of a probe",
		`{"schema":"rootbound.probe.v2"}`: `"rootbound.probe.v2", not rootbound.probe.v1`,
		`{"schema":"rootbound.probe.v1","cases":[{"id":"S01","verdict":"passed"}]}`: `verdict "passed"`,
		`{"schema":"rootbound.probe.v1","cases":{"id":1}}`:                          "no report of a probe",
	} {
		if _, err := report.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	r, err := report.Read(strings.NewReader(`{"schema":"rootbound.probe.v1","summary":{"held":300},"cases":[{"id":"S01","verdict":"fell"}]}`))
	if err != nil || r.Summary.Held != 0 || r.Summary.Fell != 1 {
		t.Errorf("a summary is believed: %v %+v", err, r)
	}
	evil := sample(`"><img src=x onerror=alert(1)>\`)
	for i := range evil.Cases {
		c := &evil.Cases[i]
		for _, s := range []*string{&c.ID, &c.Family, &c.Era, &c.Want, &c.What, &c.Why, &c.Mend, &c.Ref} {
			*s += `"><img src=x onerror=alert(1)>\|` + "\n|`" + hostile
		}
	}
	for _, s := range []*string{&evil.Server.Profile, &evil.Server.Eras[0], &evil.Server.Unmapped[0], &evil.Cases[1].Transcript[0].Who} {
		*s += hostile
	}
	page := write(t, "html", evil, evil)
	if strings.Contains(page, "<img") || strings.Contains(page, "<script>alert") || strings.Contains(page, "\u202e") || strings.Contains(page, "\x1b") {
		t.Error("a text of a report is a part of the page")
	}
	lines := strings.Split(write(t, "markdown", evil), "\n")
	for _, l := range lines[2:6] { // one row a case, and no cell more than the others have
		if n := strings.Count(strings.NewReplacer(`\\`, "", `\|`, "").Replace(l), "|"); n != 4 {
			t.Errorf("%d bars in %s", n, l)
		}
	}
}
