// Package search finds entries below a directory by glob patterns, on handles.
//
// Patterns mean what they mean to clients of the official server: they are matched against the path
// relative to the directory that is searched, hidden names included, case-sensitive.
package search
