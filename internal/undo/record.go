package undo

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// record is what the store knows of one change: a line of JSON, and a line with its HMAC-SHA-256 under the key of the
// state directory. Paths are bytes, because file names need not be text.
type record struct {
	ID        string              `json:"id"`
	Time      time.Time           `json:"time"`
	Boot      string              `json:"boot"`
	Operation rootbound.Operation `json:"operation"`
	Decision  string              `json:"decision_id"`
	Client    string              `json:"client,omitempty"` // self-reported
	Principal string              `json:"principal,omitempty"`
	Entries   []entry             `json:"entries"`
}

// entry is one name that changed: Old stood there, New stands there since. One of them may be nil.
type entry struct {
	Project rootbound.RootID `json:"project"`
	Path    []byte           `json:"path"` // inside the project
	Root    []byte           `json:"root"` // absolute: where At begins
	At      []byte           `json:"at"`   // inside Root, as reached
	Old     *thing           `json:"old,omitempty"`
	New     *thing           `json:"new,omitempty"`
	From    []byte           `json:"from,omitempty"` // inside FromDir: where New stood before, if it was moved
	FromDir []byte           `json:"from_root,omitempty"`
	FromAt  []byte           `json:"from_path,omitempty"` // inside the project FromIn
	FromIn  rootbound.RootID `json:"from_project,omitempty"`
	Temp    string           `json:"temp,omitempty"` // beside At: New before it was published, perhaps Old after it
	Kept    string           `json:"kept,omitempty"` // in the store: where Old goes
	Copied  bool             `json:"copied,omitempty"`
}

// thing is a version of a file, link or directory.
type thing struct {
	Dev    uint64      `json:"dev"`
	Ino    uint64      `json:"ino"`
	Mode   fs.FileMode `json:"mode"`
	Size   int64       `json:"size"` // bytes; of a tree, what its files hold together
	MTime  int64       `json:"mtime"`
	Digest string      `json:"sha256,omitempty"`
}

func thingOf(i *beneath.Info, digest []byte) *thing {
	if i == nil {
		return nil
	}
	return &thing{Dev: i.ID.Dev, Ino: i.ID.Ino, Mode: i.Mode, Size: i.Size, MTime: i.MTime.UnixNano(), Digest: hex.EncodeToString(digest)}
}

// is reports whether i is this very version: the same inode, and for a file the same size and time. A directory's change
// with what lies in it. After the machine was started anew device numbers say nothing.
func (t *thing) is(i beneath.Info, sameBoot bool) bool {
	if t == nil || i.ID.Ino != t.Ino || sameBoot && i.ID.Dev != t.Dev || i.Mode.Type() != t.Mode.Type() {
		return false
	}
	return t.Mode.IsDir() || i.Size == t.Size && i.MTime.UnixNano() == t.MTime
}

func (t *thing) sameObject(i beneath.Info, sameBoot bool) bool {
	return t != nil && i.ID.Ino == t.Ino && (!sameBoot || i.ID.Dev == t.Dev)
}

// size is what the change takes of the store.
func (r *record) size() (n int64) {
	for _, e := range r.Entries {
		if e.Old != nil {
			n += e.Old.Size
		}
	}
	return n
}

var (
	errTorn   = errors.New("it is incomplete")
	errForged = errors.New("it was not written by this program, or was edited")
)

func (r *record) seal(key []byte) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	return append(append(body, mac(key, body)...), '\n'), nil
}

// open reads what seal wrote: errTorn, errForged.
func open(key, sealed []byte) (*record, error) {
	at := bytes.IndexByte(sealed, '\n')
	if at < 0 || len(sealed) < at+2+2*sha256.Size || sealed[len(sealed)-1] != '\n' {
		return nil, errTorn
	}
	body, sum := sealed[:at+1], sealed[at+1:len(sealed)-1]
	if !authentic(key, body, sum) {
		return nil, errForged
	}
	r := new(record)
	if err := json.Unmarshal(body, r); err != nil {
		return nil, errForged
	}
	return r, nil
}

func mac(key, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("rootbound undo 1\n"))
	h.Write(body)
	return hex.AppendEncode(nil, h.Sum(nil))
}

func authentic(key, body, sum []byte) bool {
	return hmac.Equal(mac(key, body), sum)
}
