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

// The scope that a person accepted of a configuration file lies in DIR/accepted, one file for each configuration, named
// by the digest of its path. The first line has the MAC of path and body under the key "accepted", so that what another
// program writes there, or moves there from another configuration, is told from what Accept wrote.
const (
	acceptedMagic = "rootbound-accepted 1 "
	acceptedMost  = 4 << 20 // bytes of one record
)

// Accepted is what Accept stored for the configuration file of that name. fs.ErrNotExist if nothing was; any other error
// means that it must not be relied on, and that nothing may take its place but what a person accepts anew.
func (d *Dir) Accepted(name string) ([]byte, error) {
	f, err := os.Open(d.AcceptedPath(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := io.ReadAll(io.LimitReader(f, acceptedMost+1))
	if err != nil {
		return nil, err
	}
	if len(all) > acceptedMost {
		return nil, errors.New("the record is too large")
	}
	head, body, ok := bytes.Cut(all, []byte("\n"))
	sum, magic := bytes.CutPrefix(head, []byte(acceptedMagic))
	if !ok || !magic {
		return nil, errors.New("the record is damaged")
	}
	want, err := d.acceptedMAC(name, body)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(sum, []byte(want)) {
		return nil, errors.New("the record was not written by this user's rootbound for this file")
	}
	return body, nil
}

// Accept replaces what was accepted, durably and as a whole.
func (d *Dir) Accept(name string, body []byte) error {
	dir, err := d.sub("accepted")
	if err != nil {
		return err
	}
	sum, err := d.acceptedMAC(name, body)
	if err != nil {
		return err
	}
	if len(body) > acceptedMost/2 {
		return fmt.Errorf("the scope takes %d bytes, at most %d can be kept", len(body), acceptedMost/2)
	}
	tmp, err := os.CreateTemp(dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if _, err := fmt.Fprintf(tmp, "%s%s\n%s", acceptedMagic, sum, body); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), d.AcceptedPath(name)); err != nil {
		return err
	}
	if held, err := os.Open(dir); err == nil {
		_ = held.Sync()
		held.Close()
	}
	return nil
}

// AcceptedPath is where the record of that name lies, there or not, for programs that look whether it changed.
func (d *Dir) AcceptedPath(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(d.path, "accepted", hex.EncodeToString(sum[:]))
}

func (d *Dir) acceptedMAC(name string, body []byte) (string, error) {
	key, err := d.Key("accepted")
	if err != nil {
		return "", err
	}
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s%d\n%s\n", acceptedMagic, len(name), name)
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil)), nil
}
