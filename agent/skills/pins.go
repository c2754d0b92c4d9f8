package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// PinsName is the file of pins in the state directory.
const PinsName = "skills.json"

// Pins are the hashes of the skills that were accepted, by their names.
type Pins map[string]string

// stored is what is on disk. It only gains fields.
type stored struct {
	Accepted map[string]string `json:"accepted"`
}

// ReadPins reads the pins of a file. There are none if it does not exist.
func ReadPins(path string) (Pins, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Pins{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("skills: read what was accepted: %w", err)
	}
	var s stored
	err = json.Unmarshal(data, &s)
	if err != nil {
		return nil, fmt.Errorf("skills: read what was accepted: %s: %w", path, err)
	}
	if s.Accepted == nil {
		s.Accepted = map[string]string{}
	}
	return s.Accepted, nil
}

// Accept notes s as it is now, and forgets one that is not there any more. An error says why
// s cannot be accepted; then p is as it was.
func (p Pins) Accept(s Skill) error {
	switch s.State {
	case Wrong:
		return errors.New(s.Why)
	case Gone:
		delete(p, s.Name)
	default:
		p[s.Name] = s.Hash
	}
	return nil
}

// Write stores p in a file, whole or not at all.
func (p Pins) Write(path string) error {
	data, err := json.MarshalIndent(stored{p}, "", "  ")
	if err != nil {
		return fmt.Errorf("skills: keep what was accepted: %w", err)
	}
	err = os.MkdirAll(filepath.Dir(path), 0o700) // before the daemon ever ran
	if err != nil {
		return fmt.Errorf("skills: keep what was accepted: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), PinsName+".*")
	if err != nil {
		return fmt.Errorf("skills: keep what was accepted: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, giveToOwner(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it is of no use to anybody
		return fmt.Errorf("skills: keep what was accepted: %w", err)
	}
	return nil
}

// giveToOwner gives a file to the owner of its folder, if root wrote it: the service reads it
// as a user of its own.
func giveToOwner(f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(filepath.Dir(f.Name()))
	if err != nil {
		return err
	}
	owner, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return nil
	}
	return f.Chown(int(owner.Uid), int(owner.Gid))
}
