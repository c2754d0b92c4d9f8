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

// learntFile is that file. What was learnt under another configuration of the
// model is forgotten: it may have been the configuration's fault.
type learntFile struct {
	Configuration string        `json:"configuration"` // a hash
	Models        []learntModel `json:"models"`
	// Begins says of models whether their answers begin with thoughts that only
	// their end marks. Models that it does not name have not answered yet.
	Begins map[string]bool `json:"thoughts_first,omitempty"`
}

type learntModel struct {
	Server string             `json:"server"` // the base URL without its query
	Model  string             `json:"model"`
	What   []provider.Learned `json:"learned"`
}

// learnt keeps what refusals have taught over restarts. A file that cannot be
// read or written costs one refused request a start, so it is only logged.
// It is safe for concurrent use.
type learnt struct {
	path string
	log  *slog.Logger
	mu   sync.Mutex
	file learntFile
}

// openLearnt reads the file at path, if it belongs to this configuration.
func openLearnt(path string, c config.Model, log *slog.Logger) *learnt {
	l := &learnt{path: path, log: log}
	hash := configurationHash(c)
	file, err := readLearnt(path)
	if err != nil {
		log.Warn("the notes about model servers cannot be read; Dragoman learns them again", "err", err)
	}
	if l.file = file; file.Configuration != hash {
		l.file = learntFile{Configuration: hash}
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

// readLearnt reads the file; an absent one is empty.
func readLearnt(path string) (file learntFile, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		return learntFile{}, fmt.Errorf("llm: read %s: %w", NotesName, err)
	}
	return file, nil
}

// of is what is known of one model.
func (l *learnt) of(s models.Server, name string) []provider.Learned {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.index(s, name); i >= 0 {
		return slices.Clone(l.file.Models[i].What)
	}
	return nil
}

func (l *learnt) index(s models.Server, name string) int {
	place := models.Shown(s.BaseURL)
	return slices.IndexFunc(l.file.Models, func(m learntModel) bool { return m.Server == place && m.Model == name })
}

// mostLearnt bounds the models that the file has; conversations name them.
const mostLearnt = 256

// keep remembers what is known of one model.
func (l *learnt) keep(s models.Server, name string, what []provider.Learned) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch i := l.index(s, name); {
	case i >= 0:
		l.file.Models[i].What = what
	case len(l.file.Models) >= mostLearnt:
		return
	default:
		l.file.Models = append(l.file.Models, learntModel{models.Shown(s.BaseURL), name, what})
	}
	l.save(name)
}

// begins is what is known of how the model of that name begins its answers.
func (l *learnt) begins(name string) (thinks, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	thinks, known = l.file.Begins[name]
	return thinks, known
}

// keepBegins remembers it.
func (l *learnt) keepBegins(name string, thinks bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.file.Begins[name]; !known && len(l.file.Begins) >= mostLearnt {
		return
	}
	if l.file.Begins == nil {
		l.file.Begins = make(map[string]bool)
	}
	l.file.Begins[name] = thinks
	l.save(name)
}

// save replaces the file after something was learnt of the model of that name. It
// is not synced: a crash may cost what was learnt last, and then one refused
// request.
func (l *learnt) save(name string) {
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
