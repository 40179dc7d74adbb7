package state

import "os"

// stage writes a file (0600) under a temporary name in dir, from where a link or a rename brings it to its place whole or
// not at all, and makes it durable if told to. The caller removes the name.
func stage(dir string, durable bool, parts ...[]byte) (name string, err error) {
	f, err := os.CreateTemp(dir, tempPrefix+"*")
	if err != nil {
		return "", err
	}
	for _, p := range parts {
		if _, err = f.Write(p); err != nil {
			break
		}
	}
	if err == nil && durable {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

const tempPrefix = ".new-"

// SyncDir makes the names in a directory durable. Where directories cannot be synced the files' own sync has to do.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && checksModes {
		return err
	}
	return nil
}
