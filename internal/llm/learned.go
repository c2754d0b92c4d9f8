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

// NotesName is the file with what refusals and answers of model servers have taught,
// in the state directory.
const NotesName = "models.json"

// notesFile is that file. What was learnt under another configuration of the
// model is forgotten: it may have been the configuration's fault.
type notesFile struct {
	Configuration string       `json:"configuration"` // a hash
	Models        []modelNotes `json:"models"`
	// ThoughtsFirst says of models whether their answers begin with thoughts that only
	// their end marks. Models that it does not name have not answered yet.
	ThoughtsFirst map[string]bool `json:"thoughts_first,omitempty"`
}

type modelNotes struct {
	Server  string             `json:"server"` // the base URL without its query
	Model   string             `json:"model"`
	Learned []provider.Learned `json:"learned"`
}

// notes keeps what refusals have taught over restarts. A file that cannot be
// read or written costs one refused request a start, so it is only logged.
// It is safe for concurrent use.
type notes struct {
	path string
	log  *slog.Logger
	mu   sync.Mutex
	file notesFile
}

// openNotes reads the file at path, if it belongs to this configuration.
func openNotes(path string, c config.Model, log *slog.Logger) *notes {
	l := &notes{path: path, log: log}
	hash := configurationHash(c)
	file, err := readNotes(path)
	if err != nil {
		log.Warn("the notes about model servers cannot be read; Dragoman learns them again", "err", err)
	}
	if l.file = file; file.Configuration != hash {
		l.file = notesFile{Configuration: hash}
	}
	return l
}

// configurationHash tells one configuration of the model from another. It holds
// a hash of the key only.
func configurationHash(c config.Model) string {
	b, err := json.Marshal(struct {
		C   config.Model
		Key string
	}{c, c.APIKey.Reveal()})
	if err != nil {
		b = nil // plain data can always be written
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// readNotes reads the file; an absent one is empty.
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

// learned is what is known learned one model.
func (l *notes) learned(s models.Server, name string) []provider.Learned {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.index(s, name); i >= 0 {
		return slices.Clone(l.file.Models[i].Learned)
	}
	return nil
}

func (l *notes) index(s models.Server, name string) int {
	place := models.RedactURL(s.BaseURL)
	return slices.IndexFunc(l.file.Models, func(m modelNotes) bool { return m.Server == place && m.Model == name })
}

// maxNotes bounds the models that the file has; conversations name them.
const maxNotes = 256

// setLearned remembers what is known of one model.
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

// thoughtsFirst is what is known of how the model of that name thoughtsFirst its answers.
func (l *notes) thoughtsFirst(name string) (thinks, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	thinks, known = l.file.ThoughtsFirst[name]
	return thinks, known
}

// setThoughtsFirst remembers it.
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

// save replaces the file after something was learnt of the model of that name. It
// is not synced: a crash may cost what was learnt last, and then one refused
// request.
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
