//go:build !unix

package patch_test

import (
	"io/fs"

	"github.com/rootbound/rootbound/beneath"
)

// identity: the path alone has to do.
func identity(fs.FileInfo) beneath.ObjectID { return beneath.ObjectID{} }
