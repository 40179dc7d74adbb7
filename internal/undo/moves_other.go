//go:build !linux

package undo

// moves: two names cannot be exchanged here, so what is replaced is copied.
const moves = false
