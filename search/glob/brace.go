package glob

import (
	"strconv"
	"strings"
)

// maxNesting bounds braces within braces.
const maxNesting = 50

// expandBraces writes out "{a,b}" and "{1..3}" as bash does; what is neither stays as it is. It reports false where the
// budget is spent.
func expandBraces(s string, b *budget) ([]string, bool) {
	if !strings.Contains(s, "{") {
		return []string{s}, b.take(&b.expansions, 1) && b.take(&b.bytes, len(s))
	}
	// what stands for an escaped character while braces are looked for; patterns hold no NUL
	s = strings.NewReplacer(`\\`, "\x00s", `\{`, "\x00o", `\}`, "\x00c", `\,`, "\x00m", `\.`, "\x00p").Replace(s)
	if strings.HasPrefix(s, "{}") {
		s = "\x00o\x00c" + s[2:]
	}
	x := &expander{budget: b}
	all := x.expand(s, 0)
	if b.over || !b.take(&b.expansions, len(all)) {
		return nil, false
	}
	shown := strings.NewReplacer("\x00s", `\\`, "\x00o", `\{`, "\x00c", `\}`, "\x00m", `\,`, "\x00p", `\.`)
	seen := make(map[string]bool, len(all))
	out := all[:0]
	for _, a := range all {
		a = shown.Replace(a)
		if a != "" && !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	return out, true
}

type expander struct{ *budget }

func (x *expander) expand(s string, depth int) []string {
	if depth > maxNesting {
		x.over = true
	}
	acc := []string{""}
	for !x.over {
		open, end := x.balanced(s)
		if open < 0 {
			return x.join(acc, []string{s})
		}
		pre, body, post := s[:open], s[open+1:end], s[end+1:]
		var values []string
		seq, isSeq := sequence(body, x.expansions)
		x.read(16 * len(seq))
		switch {
		case strings.HasSuffix(pre, "$"):
			values = []string{"{" + body + "}"}
		case isSeq:
			values = seq
		case strings.Contains(body, ","):
			parts := x.commaParts(body)
			if len(parts) == 1 { // the commas are all within one inner set
				for _, v := range x.expand(parts[0], depth+1) {
					values = append(values, "{"+v+"}")
				}
				break
			}
			for _, p := range parts {
				values = append(values, x.expand(p, depth+1)...)
				if len(values) > x.expansions {
					x.over = true
					return nil
				}
			}
		case commaSetFollows(post): // "{a},b}": the first closing brace is a character
			s = pre + "{" + body + "\x00c" + post
			continue
		default:
			return x.join(acc, []string{s})
		}
		if !x.read(len(values) * len(pre)) {
			return nil
		}
		for i := range values {
			values[i] = pre + values[i]
		}
		acc = x.join(acc, values)
		s = post
		if s == "" {
			return acc
		}
	}
	return nil
}

func (x *expander) join(heads, tails []string) []string {
	if len(heads)*len(tails) > x.expansions {
		x.over = true
		return nil
	}
	out := make([]string, 0, len(heads)*len(tails))
	for _, h := range heads {
		for _, t := range tails {
			if !x.take(&x.bytes, len(h)+len(t)) {
				return nil
			}
			out = append(out, h+t)
		}
	}
	return out
}

// balanced finds the first "{" that has its "}", -1 for none.
func (x *expander) balanced(s string) (open, end int) {
	if !x.read(len(s)) {
		return -1, -1
	}
	var opens []int
	open, end = -1, -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{':
			opens = append(opens, i)
		case '}':
			if len(opens) == 0 {
				continue
			}
			o := opens[len(opens)-1]
			opens = opens[:len(opens)-1]
			if open < 0 || o < open {
				open, end = o, i
			}
			if len(opens) == 0 {
				return open, end
			}
		}
	}
	return open, end
}

// commaParts splits at the commas outside inner braces.
func (x *expander) commaParts(s string) []string {
	var out []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{':
			if o, e := x.balanced(s[i:]); o == 0 {
				i += e
			}
		case ',':
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

// commaSetFollows reports a comma that is not doubled and a closing brace behind it.
func commaSetFollows(s string) bool {
	end := strings.LastIndexByte(s, '}')
	for i := 0; i < end; i++ {
		if s[i] == ',' && s[i+1] != ',' {
			return true
		}
	}
	return false
}

// sequence writes out "1..5", "05..10..2", "a..e", at most one more than most.
func sequence(s string, most int) ([]string, bool) {
	parts := strings.Split(s, "..")
	if len(parts) != 2 && len(parts) != 3 {
		return nil, false
	}
	step := 1
	if len(parts) == 3 {
		if !isNumber(parts[2]) {
			return nil, false
		}
		n, err := strconv.Atoi(parts[2])
		if err != nil {
			return nil, false
		}
		step = max(1, n, -n)
	}
	letters := isLetter(parts[0]) && isLetter(parts[1])
	var from, to int
	switch {
	case letters:
		from, to = int(parts[0][0]), int(parts[1][0])
	case isNumber(parts[0]) && isNumber(parts[1]):
		var err1, err2 error
		from, err1 = strconv.Atoi(parts[0])
		to, err2 = strconv.Atoi(parts[1])
		if err1 != nil || err2 != nil {
			return nil, false
		}
	default:
		return nil, false
	}
	width := 0
	if padded(parts[0]) || padded(parts[1]) {
		width = max(len(parts[0]), len(parts[1]))
	}
	var out []string
	for v := from; len(out) <= most; {
		if letters {
			out = append(out, string(rune(v)))
		} else {
			out = append(out, pad(v, width))
		}
		if from <= to && to-v < step || from > to && v-to < step {
			return out, true
		}
		if from <= to {
			v += step
		} else {
			v -= step
		}
	}
	return out, true // one too many: the join finds it
}

func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && len(s) <= 15 && strings.Trim(s, "0123456789") == ""
}

func isLetter(s string) bool {
	return len(s) == 1 && (s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z')
}

func padded(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return len(s) > 1 && s[0] == '0'
}

func pad(v, width int) string {
	s := strconv.Itoa(v)
	if need := width - len(s); need > 0 {
		sign, digits := "", s
		if v < 0 {
			sign, digits = "-", s[1:]
		}
		return sign + strings.Repeat("0", need) + digits
	}
	return s
}
