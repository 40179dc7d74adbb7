package decision

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Read gives each record of a JSONL log to visit, in their order, until visit returns an error. Lines that are no record
// are counted and passed over: a crash or a full disk may have cut one, and where another process's record stands right
// behind the cut, that record is still found. Lines over 16 MiB count as broken.
func Read(log io.Reader, visit func(*Record) error) (broken int, err error) {
	const longest = 16 << 20
	in := bufio.NewReaderSize(log, 64<<10)
	for {
		line, tooLong, err := readLine(in, longest)
		if tooLong {
			broken++
		} else if line = bytes.TrimSpace(line); len(line) > 0 {
			r, whole := parse(line)
			if !whole {
				broken++
			}
			if r != nil {
				if err := visit(r); err != nil {
					return broken, err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return broken, nil
		}
		if err != nil {
			return broken, err
		}
	}
}

func readLine(in *bufio.Reader, longest int) (line []byte, tooLong bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > longest {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

var recordStart = []byte(`{"schema":"` + Schema + `"`)

func parse(line []byte) (r *Record, whole bool) {
	r = new(Record)
	if json.Unmarshal(line, r) == nil && r.Schema == Schema {
		return r, true
	}
	at := bytes.LastIndex(line, recordStart)
	if at <= 0 {
		return nil, false
	}
	r = new(Record)
	if json.Unmarshal(line[at:], r) != nil {
		return nil, false
	}
	return r, false
}
