package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFile bounds the files of a program that are hashed.
const maxFile = 64 << 20

// files hashes the files of the server's program.
func (l *link) files() (map[string]string, error) {
	return programFiles(&l.Server, l.pool.o.Launch != nil)
}

// programFiles hashes the files that a command names: its arguments that are files, with the
// list of what npm installed around them, or else the program itself. apart: it runs as another
// user, so what cannot be read here might be its program all the same.
func programFiles(s *Server, apart bool) (map[string]string, error) {
	if len(s.Command) == 0 {
		return nil, nil
	}
	files := map[string]string{}
	for _, arg := range s.Command[1:] {
		if !filepath.IsAbs(arg) {
			continue
		}
		info, err := os.Stat(arg)
		if apart && errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("the daemon cannot look at %s, so nobody would notice if that changed. Put programs where everybody may read them, and write paths in the server's own folder without that folder", filepath.Base(arg))
		}
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := hashFile(files, arg); err != nil {
			return nil, err
		}
		if root, _, found := strings.Cut(arg, "/node_modules/"); found {
			_ = hashFile(files, root+"/node_modules/.package-lock.json") // other installers write none
		}
	}
	if info, err := os.Stat(s.Command[0]); len(files) == 0 && filepath.IsAbs(s.Command[0]) && err == nil && info.Mode().IsRegular() {
		return files, hashFile(files, s.Command[0])
	}
	return files, nil // without a program, starting it says so
}

func hashFile(files map[string]string, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("a file of its program cannot be read: %w", reasonOf(err))
	}
	defer f.Close() // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, maxFile)); err != nil {
		return fmt.Errorf("a file of its program cannot be read: %w", reasonOf(err))
	}
	files[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}
