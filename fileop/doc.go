// Package fileop reads, lists, writes, edits and moves on handles. It decides nothing and imports neither guard nor
// authority: who may do what was settled before a handle came here.
//
// Reads take an io.ReaderAt and what was known of the file when it was opened. Changes take a [Target]: a place to stage
// a temporary file in and a Commit that makes it visible; guard's Target is one. Results are data: the rooms above turn
// them into text.
//
// Every amount is bounded by a number of the operator, never by one of the caller: a caller's number is compared, not
// allocated. All functions are safe for concurrent use on different targets.
package fileop
