package unread

import (
	"net/http"
	"testing"
	"time"
)

// Protect sets what is missing on a server, and nothing else.
func TestProtectKeepsWhatIsSet(t *testing.T) {
	b := New(Options{Stall: time.Second})
	for _, c := range []*struct {
		is, want http.Server
	}{
		{http.Server{}, http.Server{ReadHeaderTimeout: time.Second, HTTP2: &http.HTTP2Config{WriteByteTimeout: time.Second}}},
		{http.Server{ReadTimeout: 5, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 7}},
			http.Server{ReadTimeout: 5, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 7, WriteByteTimeout: time.Second}}},
		{http.Server{ReadHeaderTimeout: 5, HTTP2: &http.HTTP2Config{WriteByteTimeout: 6}}, http.Server{ReadHeaderTimeout: 5, HTTP2: &http.HTTP2Config{WriteByteTimeout: 6}}},
	} {
		b.Protect(&c.is)
		if c.is.ReadHeaderTimeout != c.want.ReadHeaderTimeout || c.is.ReadTimeout != c.want.ReadTimeout || c.is.HTTP2.WriteByteTimeout != c.want.HTTP2.WriteByteTimeout || c.is.HTTP2.MaxConcurrentStreams != c.want.HTTP2.MaxConcurrentStreams || c.is.WriteTimeout != 0 {
			t.Errorf("%+v", c.is.HTTP2)
		}
	}
}
