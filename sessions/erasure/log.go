package erasure

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/internal/durable"
	"dragoman/sessions"
)

// Log is the audit log: a file with two lines for everything that an operator or a
// person does to a conversation, one written before and one after. So an act that a
// crash interrupted has a line, too. The zero value writes nothing.
type Log struct {
	Path string
	Now  func() time.Time // the clock; default: time.Now
}

// The states of a line. A failed act has changed nothing. An erasure that left files
// has to be finished.
const (
	begun     = "begun"
	done      = "done"
	failed    = "failed"
	filesLeft = "files left"
)

// entry is one line of the log.
type entry struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"`
	State  string    `json:"state"`
	// ID is the same in all lines of one erasure; other acts have none.
	ID string `json:"id,omitempty"`
	// Again marks the second run of an interrupted erasure: it counts only what the
	// first run left.
	Again bool `json:"again,omitempty"`
	// Targets are SHA-256 sums of keys and of "channel:id" of people; a join has from
	// and to, in this order. A sum proves that a given person was erased without
	// naming them, but anyone who guesses an id can check it.
	Targets []string `json:"targets,omitempty"`
	// Token is the name of the token that the act is about.
	Token string `json:"token,omitempty"`
	// Name is the channel or the job that the act is about.
	Name string `json:"name,omitempty"`
	// By is the name of whoever acts, as in people.Principal. It is never a token's secret.
	By string `json:"by,omitempty"`
	*counts
}

// counts say how much an erasure removed, without the names of files.
type counts struct {
	sessions.Erased
	Left  any `json:"left,omitempty"`
	Files int `json:"files"`
}

// Record calls do, which does action to keys, between two lines of the log. If the
// first line cannot be written, it does not call do. If the second cannot, it returns
// an error although do was called.
func (l Log) Record(action string, do func() error, keys ...channels.Key) error {
	a := Act{Action: action}
	for _, k := range keys {
		a.Targets = append(a.Targets, k.String())
	}
	return l.RecordAct(a, do)
}

// Act is what a line of the log is about.
type Act struct {
	Action string
	By     string // who acts, a people.Principal.Name
	// Targets are keys and identities. Only their sums are written.
	Targets []string
	// Token is the name of a token, Name that of a channel or a job.
	Token, Name string
}

// RecordAct is Record for any act.
func (l Log) RecordAct(a Act, do func() error) error {
	e := entry{Action: a.Action, By: a.By, Token: a.Token, Name: a.Name}
	for _, target := range a.Targets {
		e.Targets = append(e.Targets, hash(target))
	}
	return l.record(e, do)
}

// record is Record with the line to write.
func (l Log) record(e entry, do func() error) error {
	e.State = begun
	if err := l.write(e); err != nil {
		return err
	}
	err := do()
	e.State = done
	if err != nil {
		e.State = failed
	}
	return errors.Join(err, l.write(e))
}

// Read writes that somebody read what others wrote in k. by is a people.Principal.Name.
func (l Log) Read(by string, k channels.Key) error {
	return l.write(entry{Action: "read", State: done, By: by, Targets: []string{hash(k.String())}})
}

// ReadAll writes that somebody read all that is stored. The line has no targets.
func (l Log) ReadAll(by string) error {
	return l.write(entry{Action: "read", State: done, By: by})
}

// states lists the logged states of the erasure with this id, in order. A log that
// cannot be read has none, because erasing twice does no harm.
func (l Log) states(id string) (all []string) {
	data, _ := os.ReadFile(l.Path)
	for line := range bytes.Lines(data) {
		var e struct{ ID, State string }
		if json.Unmarshal(line, &e) == nil && e.ID == id {
			all = append(all, e.State)
		}
	}
	return all
}

// write appends e. A missing time becomes now.
func (l Log) write(e entry) error {
	if l.Path == "" {
		return nil
	}
	if e.At.IsZero() {
		if l.Now == nil {
			l.Now = time.Now
		}
		e.At = l.Now().UTC()
	}
	line, err := json.Marshal(e)
	if err == nil {
		err = appendLine(l.Path, line)
	}
	if err != nil {
		return fmt.Errorf("erasure: write the audit log: %w", err)
	}
	return nil
}

// appendLine durably appends a line to a file that only its owner can read. If a
// crash cut the last line short, it ends that one first.
func appendLine(path string, line []byte) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err = errors.Join(err, f.Chmod(0o600)); err != nil {
		return err
	}
	line = append(line, '\n')
	if n := info.Size(); n > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], n-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}

// targets returns the sums of the keys and people that e names, sorted.
func targets(e sessions.Erasure) (sums []string) {
	for _, k := range e.Keys {
		sums = append(sums, hash(k.String()))
	}
	for _, s := range e.Senders {
		sums = append(sums, hash(s.Channel+":"+s.ID))
	}
	for _, owner := range e.Owners {
		sums = append(sums, hash(owner))
	}
	slices.Sort(sums)
	return slices.Compact(sums)
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
