package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"dragoman/agent"
)

// replaces is the file that a call of write_file would replace.
func (w *Workspace) replaces(c agent.Call) ([]agent.File, error) {
	name, hash, err := w.Replaced(c)
	if name == "" || err != nil {
		return nil, err
	}
	return []agent.File{{Name: name, Hash: hash}}, nil
}

const (
	// maxWalked is how many files of a conversation's folder are compared with a command.
	maxWalked = 50_000
	// maxBound is how many files a question names; the others have one line together.
	maxBound = 12
	// maxHashed is how much of all files of a command is read. Of the rest, size and times
	// count: the kernel keeps them, and no command can set when a file was changed.
	maxHashed = 128 << 20
)

// named are the files of the conversation's folder that a command names, wherever in the
// folder they lie: a command may change its folder first.
func (w *Workspace) named(ctx context.Context, c agent.Call) ([]agent.File, error) {
	var args execArgs
	if err := decode(c.Args, &args); err != nil {
		return nil, err
	}
	chat, err := w.ofChat(c)
	if err != nil {
		return nil, err
	}
	defer chat.root.Close() // nothing was written through it
	names, err := chat.find(ctx, mentions(args.Command))
	if err != nil {
		return nil, err
	}
	left := int64(maxHashed)
	var list []agent.File
	others := sha256.New()
	for i, name := range names {
		hash, err := chat.state(name, &left)
		if err != nil {
			return nil, err
		}
		if i < maxBound-1 || len(names) == maxBound {
			list = append(list, agent.File{Name: name, Hash: hash})
			continue
		}
		fmt.Fprintf(others, "%q %s\n", name, hash)
	}
	if more := len(names) - len(list); more > 0 {
		list = append(list, agent.File{Name: fmt.Sprintf("%d more files", more), Hash: hex.EncodeToString(others.Sum(nil))})
	}
	return list, nil
}

// find returns the files for which named holds, sorted. Links are files.
func (w *Workspace) find(ctx context.Context, named func(name string) bool) (names []string, err error) {
	walked := 0
	err = fs.WalkDir(w.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		walked++
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
			return nil
		case err != nil:
			return explain(name, err)
		case ctx.Err() != nil:
			return ctx.Err()
		case walked > maxWalked:
			return fmt.Errorf("the folder has more than %d files, so a yes cannot be bound to those that the command names: delete some", maxWalked)
		case !d.IsDir() && named(name):
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// state identifies the content of a file, or where a link leads. left is how much may still
// be read of files.
func (w *Workspace) state(name string, left *int64) (string, error) {
	info, err := w.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", explain(name, err)
	}
	h := sha256.New()
	if info.Mode()&fs.ModeSymlink != 0 {
		return w.linkState(name, h, left)
	}
	f, size, err := w.openRegular(name)
	if err != nil {
		return "", err
	}
	defer f.Close() // nothing was written
	n, err := io.Copy(h, io.LimitReader(f, *left))
	if err != nil {
		return "", explain(name, err)
	}
	*left -= n
	if n < size {
		info, err = f.Stat()
		if err != nil {
			return "", explain(name, err)
		}
		times(h, info)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// times adds the size of a file, and when it was written and changed.
func times(h hash.Hash, info os.FileInfo) {
	fmt.Fprintf(h, "\x00%d %d", info.Size(), info.ModTime().UnixNano())
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		fmt.Fprintf(h, " %d %v", stat.Ino, changedAt(stat))
	}
}

// linkState identifies where a link leads, and what is there, if that is in the folder. Other
// files of the machine are no command's to change.
func (w *Workspace) linkState(name string, h hash.Hash, left *int64) (string, error) {
	to, err := w.root.Readlink(name)
	if err != nil {
		return "", explain(name, err)
	}
	fmt.Fprintf(h, "link %q", to)
	if rest, inside := strings.CutPrefix(to, "/work/"); inside {
		to = rest
	} else if !filepath.IsAbs(to) {
		to = path.Join(path.Dir(name), to)
	}
	if filepath.IsLocal(to) {
		info, err := w.root.Lstat(to)
		if err == nil && info.Mode().IsRegular() {
			content, err := w.state(to, left)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, " %s", content)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// implied are files that programs read without being told.
var implied = map[string]string{"GNUmakefile": "make", "makefile": "make", "Makefile": "make", "package.json": "npm"}

// mentions returns a function that tells whether a command names a file: its last part, or a
// pattern for it, is there as a word, also with quotes or backslashes in it.
func mentions(command string) func(name string) bool {
	bare := strings.NewReplacer(`\`, "", `"`, "", "'", "").Replace(command)
	texts := []string{command, bare}
	var patterns []string
	for _, word := range strings.FieldsFunc(bare, separates) {
		if strings.ContainsAny(word, "*?[") {
			patterns = append(patterns, path.Base(word))
		}
	}
	return func(name string) bool {
		base := path.Base(name)
		asked := []string{base}
		if program := implied[base]; program != "" {
			asked = append(asked, program)
		}
		for _, text := range texts {
			if slices.ContainsFunc(asked, func(word string) bool { return hasWord(text, word) }) {
				return true
			}
		}
		return slices.ContainsFunc(patterns, func(p string) bool {
			matches, err := path.Match(p, base)
			return matches || err != nil // a pattern that only the shell understands
		})
	}
}

// separates reports whether words of a command end at r.
func separates(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(";&|<>()$`={},:", r) }

// hasWord reports whether word is in text and no part of a longer name there.
func hasWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		begin := at + i
		if !goesOn(reversed(text[:begin])) && !goesOn(text[begin+len(word):]) {
			return true
		}
		at = begin + max(1, len(word))
	}
}

// goesOn reports whether a name goes on with rest: also with an ending, as in ".sh".
func goesOn(rest string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimPrefix(rest, "."))
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-'
}

// reversed is the last characters of text, the last one first.
func reversed(text string) string {
	last, n := utf8.DecodeLastRuneInString(text)
	before, _ := utf8.DecodeLastRuneInString(text[:len(text)-n])
	return string([]rune{last, before})
}
