package source

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseSize reads bytes: a whole number, alone or with KiB, MiB, GiB, TiB (powers of 1024; K, M, G, T and KB, MB, GB, TB
// mean the same).
func ParseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "KMGTiBkb ")
	unit := strings.TrimSpace(s[len(digits):])
	n, err := strconv.ParseInt(strings.ReplaceAll(digits, "_", ""), 10, 64)
	shift, ok := map[string]uint{
		"": 0, "B": 0, "K": 10, "k": 10, "KB": 10, "KiB": 10, "M": 20, "MB": 20, "MiB": 20,
		"G": 30, "GB": 30, "GiB": 30, "T": 40, "TB": 40, "TiB": 40,
	}[unit]
	if err != nil || !ok || n < 0 {
		return 0, fmt.Errorf("%s is not a size: use bytes such as 65536, or 64 KiB, 10 MiB, 1 GiB", Word(s))
	}
	if n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%s is too large", Word(s))
	}
	return n << shift, nil
}

// FormatSize is the shortest form that ParseSize reads back.
func FormatSize(n int64) string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n != 0 && n&(1<<u.shift-1) == 0 {
			return fmt.Sprintf("%d %s", n>>u.shift, u.name)
		}
	}
	return strconv.FormatInt(n, 10)
}

// ParseSwitch reads true, on, yes, 1 and their opposites, in any case.
func ParseSwitch(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "on", "yes", "1":
		return true, nil
	case "false", "off", "no", "0":
		return false, nil
	}
	return false, fmt.Errorf("%s is neither true nor false", Word(s))
}

// ParseDuration reads a time span between two bounds.
func ParseDuration(s string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%s is not a time span: use 500ms, 5s, 2m, 48h", Word(s))
	}
	if d < least || d > most {
		return 0, fmt.Errorf("%s must be between %v and %v", Word(s), least, most)
	}
	return d, nil
}

// ParseCount reads a whole number between two bounds.
func ParseCount(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(strings.ReplaceAll(s, "_", ""))
	if err != nil {
		return 0, fmt.Errorf("%s is not a whole number", Word(s))
	}
	if n < least || n > most {
		return 0, fmt.Errorf("%s must be between %d and %d", Word(s), least, most)
	}
	return n, nil
}

// OneOf takes one of several words.
func OneOf[T ~string](s string, words ...T) (T, error) {
	for _, w := range words {
		if string(w) == s {
			return w, nil
		}
	}
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
	}
	return "", fmt.Errorf("%s is not one of %s", Word(s), strings.Join(names, ", "))
}
