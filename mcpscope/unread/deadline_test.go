package unread

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// dated keeps the deadline that is set, and those under which something was written.
type dated struct {
	*httptest.ResponseRecorder
	deadline time.Time
	wrote    []time.Time
}

func (d *dated) SetWriteDeadline(t time.Time) error { d.deadline = t; return nil }

func (d *dated) Write(p []byte) (int, error) {
	d.wrote = append(d.wrote, d.deadline)
	return d.ResponseRecorder.Write(p)
}

func (d *dated) FlushError() error { d.wrote = append(d.wrote, d.deadline); return nil }

// What is written has a deadline, and a stream with nothing to tell has none: HTTP/2 ends it by that.
func TestDeadlinesAreForWhatIsWritten(t *testing.T) {
	w := &dated{ResponseRecorder: httptest.NewRecorder()}
	b := New(Options{})
	b.Handler(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Content-Type", "text/event-stream")
		for _, write := range []func() error{
			http.NewResponseController(to).Flush,
			func() error { _, err := io.WriteString(to, "data: 1\n\n"); return err },
		} {
			if err := write(); err != nil {
				t.Error(err)
			}
			if !w.deadline.IsZero() {
				t.Errorf("a deadline is left: %v", w.deadline)
			}
		}
	})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if len(w.wrote) != 3 { // the header, the event, and its way through
		t.Errorf("written %d times", len(w.wrote))
	}
	for _, at := range append(w.wrote, w.deadline) { // the last for what net/http writes when the handler has returned
		if at.IsZero() {
			t.Error("something is written without a deadline")
		}
	}
}
