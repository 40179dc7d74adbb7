package truth

import (
	"net/url"
	"testing"
)

// A directory may have a name that a URI must encode: the file system of whoever runs the probe is not ours to choose.
func TestFillEncodesInURIs(t *testing.T) {
	w := &World{Dir: "/tmp/a#1 50%?ü"}
	for text, want := range map[string]string{
		"{app}/x":                      "/tmp/a#1 50%?ü/ws/app/x",
		`{"roots":[{"uri":"{docs}"}]}`: `{"roots":[{"uri":"/tmp/a#1 50%?ü/ws/docs"}]}`,
	} {
		if got := w.Fill(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	for text, want := range map[string]string{"file://{app}/%2e": "/tmp/a#1 50%?ü/ws/app/.", "file://localhost{ws}": "/tmp/a#1 50%?ü/ws"} {
		u, err := url.Parse(w.Fill(text))
		if err != nil || u.Path != want || u.Fragment != "" || u.RawQuery != "" {
			t.Errorf("%s: %v, %v", text, u, err)
		}
	}
}
