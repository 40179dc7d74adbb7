// Package fileop reads, lists, writes, edits and moves on handles. It decides nothing and imports neither guard nor
// authority: who may do what was settled before a handle came here.
package fileop
