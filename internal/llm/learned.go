package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"

	"dragoman/agent/models"
	"dragoman/agent/provider"
	"dragoman/internal/config"
)

// NotesName is the file in the state directory that keeps the lessons about
// model servers.
const NotesName = "models.json"

// notesFile is the content of that file. Lessons from another configuration of
// the model are dropped, because that configuration may have caused them.
type notesFile struct {
	Configuration string       `json:"configuration"` // a hash
	Models        []modelNotes `json:"models"`
	// ThoughtsFirst says, by model name, whether answers begin with thoughts that
	// only have an end mark. A missing model has not answered yet.
	ThoughtsFirst map[string]bool `json:"thoughts_first,omitempty"`
}

// modelNotes are the lessons about one model of one server.
type modelNotes struct {
	Server  string             `json:"server"` // the base URL without its query
	Model   string             `json:"model"`
	Learned []provider.Learned `json:"learned"`
}

// notes keep lessons across restarts. If the file cannot be read or written,
// each start costs one refused request for each lesson, so that is only logged.
// notes are safe for concurrent use.
type notes struct {
	path string
	log  *slog.Logger
	mu   sync.Mutex
	file notesFile
}

// openNotes reads the file at path. It begins anew if the file belongs to
// another configuration.
func openNotes(path string, c config.Model, log *slog.Logger) *notes {
	l := &notes{path: path, log: log}
	hash := configurationHash(c)
	file, err := readNotes(path)
	if err != nil {
		log.Warn("the notes about model servers cannot be read; Dragoman learns them again", "err", err)
	}
	l.file = file
	if file.Configuration != hash {
		l.file = notesFile{Configuration: hash}
	}
	return l
}

// configurationHash identifies a configuration of the model without showing its
// key.
func configurationHash(c config.Model) string {
	b, err := json.Marshal(struct {
		C   config.Model
		Key string
	}{c, c.APIKey.Reveal()})
	if err != nil {
		b = nil // cannot happen: plain data always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// readNotes reads the file. A missing file is empty.
func readNotes(path string) (file notesFile, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		return notesFile{}, fmt.Errorf("llm: read %s: %w", NotesName, err)
	}
	return file, nil
}

func (l *notes) learned(s models.Server, name string) []provider.Learned {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.index(s, name); i >= 0 {
		return slices.Clone(l.file.Models[i].Learned)
	}
	return nil
}

func (l *notes) index(s models.Server, name string) int {
	base := models.RedactURL(s.BaseURL)
	return slices.IndexFunc(l.file.Models, func(m modelNotes) bool { return m.Server == base && m.Model == name })
}

// maxNotes bounds the number of models in the file, because conversations can
// name any.
const maxNotes = 256

func (l *notes) setLearned(s models.Server, name string, what []provider.Learned) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch i := l.index(s, name); {
	case i >= 0:
		l.file.Models[i].Learned = what
	case len(l.file.Models) >= maxNotes:
		return
	default:
		l.file.Models = append(l.file.Models, modelNotes{models.RedactURL(s.BaseURL), name, what})
	}
	l.save(name)
}

// thoughtsFirst reports whether the model begins answers with thoughts that only
// their end marks, as far as that is known.
func (l *notes) thoughtsFirst(name string) (thinks, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	thinks, known = l.file.ThoughtsFirst[name]
	return thinks, known
}

func (l *notes) setThoughtsFirst(name string, thinks bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.file.ThoughtsFirst[name]; !known && len(l.file.ThoughtsFirst) >= maxNotes {
		return
	}
	if l.file.ThoughtsFirst == nil {
		l.file.ThoughtsFirst = make(map[string]bool)
	}
	l.file.ThoughtsFirst[name] = thinks
	l.save(name)
}

// save replaces the file after a lesson about the model of that name. It does
// not sync: after a crash the newest lessons may be lost and cost a refused
// request each.
func (l *notes) save(name string) {
	fresh := l.path + ".new"
	b, err := json.MarshalIndent(l.file, "", "  ")
	if err == nil {
		err = os.WriteFile(fresh, append(b, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(fresh, l.path)
	}
	if err != nil {
		l.log.Warn("a note about a model's server cannot be saved; Dragoman learns it again after a restart", "model", name, "err", err)
	}
}
