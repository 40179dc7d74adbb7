package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Active is what SetActive chose for the configuration file of that name. chosen is false if nothing was, so that all its
// projects are in force; with an error it is true and ids is empty: what cannot be relied on chooses nothing.
func (d *Dir) Active(name string) (ids []string, chosen bool, err error) {
	body, err := d.read(active, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(body)).Decode(&ids)
	}
	if err != nil {
		return nil, true, err
	}
	return ids, true, nil
}

// SetActive keeps which projects of the configuration are in force, durably and as a whole; nil: all of them.
func (d *Dir) SetActive(name string, ids []string) error {
	if ids == nil {
		path := d.ActivePath(name)
		if err := os.Remove(path); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		return SyncDir(filepath.Dir(path))
	}
	body, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return d.write(active, name, body)
}

// ActivePath is where the choice lies, there or not, for programs that look whether it changed.
func (d *Dir) ActivePath(name string) string { return d.at(active, name) }
