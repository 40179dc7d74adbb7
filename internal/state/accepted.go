package state

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// What a person decided about a configuration file lies in a directory for each kind of decision, one file for each
// configuration, named by the digest of its path. The first line has the MAC of path and body under the kind's key, so that
// what another program writes there, or moves there from another configuration or kind, is told from what was written here.
type record string // the kind, its directory and its key

const (
	accepted record = "accepted" // the scope that config apply accepted
	active   record = "active"   // the projects that use chose
)

const recordMost = 4 << 20 // bytes of one record

func (r record) magic() string { return "rootbound-" + string(r) + " 1 " }

// Accepted is what Accept stored for the configuration file of that name. fs.ErrNotExist if nothing was; any other error
// means that it must not be relied on, and that nothing may take its place but what a person accepts anew.
func (d *Dir) Accepted(name string) ([]byte, error) { return d.read(accepted, name) }

func (d *Dir) read(r record, name string) ([]byte, error) {
	f, err := os.Open(d.at(r, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := io.ReadAll(io.LimitReader(f, recordMost+1))
	if err != nil {
		return nil, err
	}
	if len(all) > recordMost {
		return nil, errors.New("the record is too large")
	}
	head, body, ok := bytes.Cut(all, []byte("\n"))
	sum, magic := bytes.CutPrefix(head, []byte(r.magic()))
	if !ok || !magic {
		return nil, errors.New("the record is damaged")
	}
	want, err := d.mac(r, name, body)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(sum, []byte(want)) {
		return nil, errors.New("the record was not written by this user's rootbound for this file")
	}
	return body, nil
}

// Accept replaces what was accepted, durably and as a whole.
func (d *Dir) Accept(name string, body []byte) error { return d.write(accepted, name, body) }

func (d *Dir) write(r record, name string, body []byte) error {
	dir, err := d.sub(string(r))
	if err != nil {
		return err
	}
	sum, err := d.mac(r, name, body)
	if err != nil {
		return err
	}
	if len(body) > recordMost/2 {
		return fmt.Errorf("the record takes %d bytes, at most %d can be kept", len(body), recordMost/2)
	}
	tmp, err := stage(dir, true, []byte(r.magic()+sum+"\n"), body)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, d.at(r, name)); err != nil {
		os.Remove(tmp)
		return err
	}
	_ = SyncDir(dir)
	return nil
}

// AcceptedPath is where the record of that name lies, there or not, for programs that look whether it changed.
func (d *Dir) AcceptedPath(name string) string { return d.at(accepted, name) }

func (d *Dir) at(r record, name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(d.path, string(r), hex.EncodeToString(sum[:]))
}

func (d *Dir) mac(r record, name string, body []byte) (string, error) {
	key, err := d.Key(string(r))
	if err != nil {
		return "", err
	}
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s%d\n%s\n", r.magic(), len(name), name)
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil)), nil
}
