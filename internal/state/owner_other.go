//go:build !unix

package state

import "io/fs"

// The profile directory's access list protects the state directory here; mode bits say nothing.
const checksModes = false

func ownerOf(fs.FileInfo) (int, bool) { return 0, false }

func identity(fs.FileInfo) (dev, ino uint64, ok bool) { return 0, 0, false }
