//go:build !linux

package sandbox

import (
	"fmt"
	"runtime"
)

func confine(_ Mode, n Needs) (string, error) {
	if err := n.check(); err != nil {
		return "", err
	}
	return "", fmt.Errorf("not available on %s", runtime.GOOS)
}
