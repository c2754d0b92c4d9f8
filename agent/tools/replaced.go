package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"dragoman/agent"
)

// Replaced returns the file that a call of write_file would replace, as it is now: its name,
// and the SHA-256 of what is in it, "" if there is no such file. name is "" for a call that
// only adds to a file, because nothing is lost by that. An error says why the call cannot
// write there.
func (w *Workspace) Replaced(c agent.Call) (name, hash string, err error) {
	var args writeArgs
	err = json.Unmarshal(c.Args, &args)
	if err != nil {
		return "", "", explainJSON(err)
	}
	if args.Append {
		return "", "", nil
	}
	name, err = local(args.Path)
	if err != nil {
		return "", "", err
	}
	seen, err := w.forCall(c)
	if err != nil {
		return "", "", err
	}
	if seen.chat {
		defer seen.root.Close() // nothing was written through it
	}
	hash, err = seen.hashOf(name)
	return name, hash, err
}

// hashOf is the hash of a file, "" if there is none.
func (w *Workspace) hashOf(name string) (string, error) {
	_, err := w.root.Lstat(path.Clean(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	f, size, err := w.openRegular(name)
	if err != nil {
		return "", err
	}
	defer f.Close() // nothing was written
	h := sha256.New()
	// A file of others may be huge: beyond what the tools could have written, its size counts.
	_, err = io.Copy(h, io.LimitReader(f, maxFileBytes))
	if err != nil {
		return "", explain(name, err)
	}
	if size > maxFileBytes {
		fmt.Fprint(h, size)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
