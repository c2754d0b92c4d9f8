package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// files hashes the files of the server's program.
func (l *link) files() (map[string]string, error) {
	if len(l.Command) == 0 {
		return nil, nil
	}
	if l.pool.o.Launch != nil {
		return programFiles(l.Command, "")
	}
	dir, err := l.pool.home(l.Name)
	if err != nil {
		return nil, err
	}
	return programFiles(l.Command, dir)
}

// programFiles hashes what a command runs, and nothing that it only reads: the program, and if
// that runs scripts, its script and what its options before that load. A program of the system
// that runs others (node, docker) is left out, because updates of the system change it. dir is
// the folder where it runs; "": it runs as another user, in a folder that we cannot look at.
func programFiles(command []string, dir string) (map[string]string, error) {
	files := map[string]string{}
	program, err := findProgram(command[0], dir)
	if err != nil {
		return files, nil // starting it says so
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, fmt.Errorf("a file of its program cannot be read: %w", reasonOf(err))
	}
	if !isStarter(program) || !isSystem(real) {
		if err := pinFile(files, program); err != nil {
			return nil, err
		}
	}
	if !isInterpreter(program) {
		return files, nil
	}
	return files, pinScript(files, command, dir)
}

// findProgram is the file of a program: in PATH, or from dir on.
func findProgram(name, dir string) (string, error) {
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	path, err := exec.LookPath(name)
	if err == nil && !filepath.IsAbs(path) {
		err = exec.ErrNotFound
	}
	return path, err
}

// pinScript hashes the script of an interpreter, and what it loads before.
func pinScript(files map[string]string, command []string, dir string) error {
	for _, path := range scriptFiles(command, dir) {
		info, err := os.Stat(path)
		switch {
		case !filepath.IsAbs(path), dir == "" && errors.Is(err, fs.ErrPermission):
			return unseen(path)
		case err != nil:
			continue // starting it says so
		}
		list := []string{path}
		if info.IsDir() { // it begins with one of these
			list = []string{filepath.Join(path, "package.json"), filepath.Join(path, "index.js"), filepath.Join(path, "__main__.py")}
		}
		for _, path := range list {
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if err := pinFile(files, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// unseen refuses a script that runs as another user and that the daemon cannot look at.
func unseen(name string) error {
	return fmt.Errorf("the daemon cannot look at %s, so nobody would notice if that changed. Put programs where everybody may read them, and write their absolute path", filepath.Base(name))
}

// pinFile hashes a file, with the list of what npm installed around it.
func pinFile(files map[string]string, path string) error {
	if err := hashFile(files, path); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // it was just there
	}
	for _, at := range []string{path, real} {
		if root, _, found := strings.Cut(at, "/node_modules/"); found {
			_ = hashFile(files, root+"/node_modules/.package-lock.json") // other installers write none
		}
	}
	return nil
}

func hashFile(files map[string]string, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("a file of its program cannot be read: %w", reasonOf(err))
	}
	defer f.Close() // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("a file of its program cannot be read: %w", reasonOf(err))
	}
	files[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// changedFiles are the names, without their folders, of what is not as it was accepted.
func changedFiles(was, now map[string]string) (names []string) {
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if was[path] != now[path] {
			names = append(names, filepath.Base(path))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(was)) {
		if _, still := now[path]; !still {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}
