package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// auditLine is one line of the audit log. Who was erased stands there as a
// hash: it proves that a given person was, and names nobody, but who guesses an
// id can check it.
type auditLine struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"`
	// State is begun, and then done, failed (all is as it was) or "files left".
	State string `json:"state"`
	// ID is the same in all lines of one erasure.
	ID string `json:"id"`
	// Again says that the erasure had been cut off and was carried out again:
	// the counts are of what was left.
	Again bool `json:"again,omitempty"`
	// Targets are SHA-256 sums of keys and of "channel:id" of people.
	Targets []string `json:"targets"`
	*counts
}

// counts are what an erasure took away.
type counts struct {
	Conversations int `json:"conversations"`
	Messages      int `json:"messages"`
	Queued        int `json:"queued"`
	Facts         int `json:"facts"`
	Summaries     int `json:"summaries"`
	Pairings      int `json:"pairings"`
	Noted         int `json:"noted"`
	Files         int `json:"files"`
	Copies        int `json:"copies,omitempty"` // of the whole store, removed
}

// noteLine is a line about what an operator or a person did to conversations
// beside an erasure. The targets of a join are from and to, in this order.
type noteLine struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"`
	// State is "begun", and then "done" or "failed" (all is as it was).
	State   string   `json:"state"`
	Targets []string `json:"targets"`
}

// Audit returns what does something to conversations between two lines of the
// audit log at path, so that one which a crash cut off has a line, too. If the
// first cannot be written, nothing is done; if the second cannot, it was done,
// and there is an error. An empty path: no lines.
func Audit(path string, now func() time.Time) func(action string, do func() error, keys ...channels.Key) error {
	return func(action string, do func() error, keys ...channels.Key) error {
		if path == "" {
			return do()
		}
		line := noteLine{At: now().UTC(), Action: action, State: "begun"}
		for _, k := range keys {
			line.Targets = append(line.Targets, hashed(k.String()))
		}
		if err := writeLine(path, line); err != nil {
			return err
		}
		err := do()
		line.At, line.State = now().UTC(), "done"
		if err != nil {
			line.State = "failed"
		}
		return errors.Join(err, writeLine(path, line))
	}
}

// audited is [Audit] for what an operator does.
func (a *admin) audited(action string, do func() error, keys ...channels.Key) error {
	return Audit(a.AuditFile, a.Now)(action, do, keys...)
}

func writeLine(path string, line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("httpapi: encode an audit line: %w", err)
	}
	return appendLine(path, data)
}

// auditBegun writes the line that stands before an erasure.
func (a *admin) auditBegun(i intention) error {
	return a.auditLine(auditLine{At: i.At, Action: "erase", State: "begun", ID: i.ID, Targets: targets(i.Erasure)})
}

// auditErased writes the line that stands behind it.
func (a *admin) auditErased(i intention, got sessions.Erased, state string, again bool) error {
	return a.auditLine(auditLine{
		At: a.Now().UTC(), Action: "erase", State: state, ID: i.ID, Again: again, Targets: targets(i.Erasure), counts: &counts{
			Conversations: got.Conversations, Messages: got.Messages, Queued: got.Queued, Facts: got.Facts, Summaries: got.Summaries,
			Pairings: got.Pairings, Noted: got.Noted, Files: len(got.Files), Copies: len(got.Copies),
		},
	})
}

func (a *admin) auditLine(line auditLine) error {
	if a.AuditFile == "" {
		return nil
	}
	return writeLine(a.AuditFile, line)
}

// targets are the sums of whom and what e erases, sorted.
func targets(e sessions.Erasure) (sums []string) {
	for _, k := range e.Keys {
		sums = append(sums, hashed(k.String()))
	}
	for _, s := range e.Senders {
		sums = append(sums, hashed(s.Channel+":"+s.ID))
	}
	slices.Sort(sums)
	return slices.Compact(sums)
}

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// appendLine adds a line to a file that only its owner reads, durably. A line
// that a crash cut short is ended first.
func appendLine(path string, line []byte) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("httpapi: open the audit log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Chmod(0o600); err != nil {
		return fmt.Errorf("httpapi: protect the audit log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("httpapi: read the audit log: %w", err)
	}
	line = append(line, '\n')
	if n := info.Size(); n > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], n-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return fmt.Errorf("httpapi: write the audit log: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("httpapi: sync the audit log: %w", err)
	}
	return syncFolder(path)
}
