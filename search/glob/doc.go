// Package glob reads patterns for the names of files, and lists of them, and tells which paths match. It looks at text only;
// that a pattern or a list takes too much time or memory is found while it is read.
package glob
