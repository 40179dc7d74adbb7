package fileop

import (
	"fmt"

	"github.com/rootbound/rootbound"
)

func tooLarge(size, limit int64) error {
	return &rootbound.Error{Reason: rootbound.TooLarge, Detail: fmt.Sprintf("%d bytes, the limit is %d", size, limit)}
}
