// Package roots looks at what a client declares before anybody decides what of it is granted: how large an answer may be,
// directories that open within a second or not at all, the id of each, and which are too wide to be asked for.
//
// Nothing here knows a ceiling, a snapshot or a generation: that is the work of package authority.
package roots

// Bounds of one answer (contract §3); the protocol has none.
const (
	MaxEntries = 256
	MaxURI     = 4 << 10 // bytes
	MaxName    = 256     // bytes of a display name, more is cut
)
