package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/internal/admission"

	"gopkg.in/yaml.v3"
)

// Limits of the files that are read, far above any real one.
const (
	maxConfigBytes = 1 << 20
	maxSecretBytes = 64 << 10
)

// Options say where to look. The zero value looks in the usual places.
type Options struct {
	// Path is the file named on the command line, or "".
	Path string
	// Env reads the environment. Default: os.LookupEnv.
	Env func(name string) (string, bool)
	// Home is the home directory, Dir the working directory. Defaults: the
	// process's.
	Home, Dir string
	// System is the folder of the machine's configuration. Default: /etc/dragoman.
	System string
	// Types are the types of channels. Without any, a file can have no channels.
	Types []channels.Type
	// Rules are the types of rules that turns must pass.
	Rules []admission.Type
	// NoSecrets is for commands that log in nowhere: a secret whose variable or file
	// is missing is then empty, not a problem. It may exist only in the environment of
	// the daemon, or in a folder that systemd makes while the daemon runs.
	NoSecrets bool
	// Tools checks the names in agent.tools. Nil: any name is right.
	Tools Tools
}

// Tools are the names of tools, as what offers them knows them.
type Tools interface {
	// Known returns the names that every daemon has, sorted.
	Known() []string
	// MayExist reports whether a running daemon could have a tool of this name: it has
	// it, or only a server that is asked then can tell.
	MayExist(name string) bool
}

// Source says where a configuration came from.
type Source struct {
	// Path is the file, or "" for the built-in defaults.
	Path string
	// How it was found: "--config", "$DRAGOMAN_CONFIG", "found" or "defaults".
	How string
	// StateDir is the file's state_dir, as far as that can be read. It is for a file
	// with problems, whose daemon may run; "" if the file has none.
	StateDir string
}

// String is for people.
func (s Source) String() string {
	switch s.How {
	case "", "defaults":
		return "built-in defaults (no configuration file)"
	case "found":
		return s.Path
	}
	return fmt.Sprintf("%s (from %s)", s.Path, s.How)
}

// Load finds the file, reads it and checks it. The search ends at the first of:
// Options.Path, $DRAGOMAN_CONFIG, ./dragoman.yaml,
// ~/.config/dragoman/config.yaml, /etc/dragoman/config.yaml, built-in
// defaults. Under sudo, /etc/dragoman comes before the other files. A missing file
// that was named is an error. Mistakes in the content are a [Problems]; the Source
// is correct even then, and has the StateDir.
func Load(o Options) (*Config, Source, error) {
	o = o.filled()
	src, err := o.find()
	if err != nil {
		return nil, src, err
	}
	var data []byte
	if src.Path != "" {
		data, err = readLimited(src.Path, maxConfigBytes)
		if err != nil {
			return nil, src, Problems{{File: src.Path, What: err.Error()}}
		}
	}
	c, d := parse(data, src, o)
	if len(d.problems) == 0 {
		return c, src, nil
	}
	src.StateDir = o.absolute(c.StateDir, d.base)
	if d.fatal {
		src.StateDir = d.stateDirLine(data, src.StateDir)
	}
	return nil, src, d.problems.sorted()
}

func (o Options) filled() Options {
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir()
	}
	if o.Dir == "" {
		o.Dir, _ = os.Getwd()
	}
	o.System = cmp.Or(o.System, "/etc/dragoman")
	return o
}

func (o Options) find() (Source, error) {
	named := Source{Path: o.Path, How: "--config"}
	if named.Path == "" {
		named.How = "$DRAGOMAN_CONFIG"
		named.Path, _ = o.Env("DRAGOMAN_CONFIG")
	}
	if named.Path != "" {
		named.Path = o.absolute(named.Path, o.Dir)
		if _, err := os.Stat(named.Path); err != nil {
			return named, Problems{{
				File: named.Path, What: "this file was named by " + named.How + " and cannot be read: " + reason(err),
			}}
		}
		return named, nil
	}
	for _, path := range o.places() {
		// A file that cannot be read, or a dangling link, must not be skipped in
		// silence: the next file may let other people in.
		switch _, err := os.Lstat(path); {
		case err == nil:
			return Source{Path: path, How: "found"}, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			hint := ""
			if errors.Is(err, fs.ErrPermission) {
				hint = "; put sudo in front to ask the service, or write a dragoman.yaml here to run your own"
			}
			return Source{Path: path, How: "found"}, Problems{{File: path, What: "cannot be read: " + reason(err) + hint}}
		}
	}
	return Source{How: "defaults"}, nil
}

func (o Options) places() []string {
	user := filepath.Join(o.Home, ".config")
	if dir, ok := o.Env("XDG_CONFIG_HOME"); ok && filepath.IsAbs(dir) {
		user = dir
	}
	local := filepath.Join(o.Dir, "dragoman.yaml")
	personal := filepath.Join(user, "dragoman", "config.yaml")
	system := filepath.Join(o.System, "config.yaml")
	if who, _ := o.Env("SUDO_USER"); who != "" { // sudo means the service, even in a clone
		return []string{system, local, personal}
	}
	return []string{local, personal, system}
}

// systemStateDir is the default state_dir of a configuration in Options.System,
// which is that of the machine's service.
const systemStateDir = "/var/lib/dragoman"

// stateDir follows systemd's StateDirectory=, then the XDG convention.
func (o Options) stateDir() string {
	if dir, ok := o.Env("STATE_DIRECTORY"); ok && filepath.IsAbs(dir) {
		return dir
	}
	if dir, ok := o.Env("XDG_STATE_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "dragoman")
	}
	return filepath.Join(o.Home, ".local", "state", "dragoman")
}

// absolute resolves "~" and paths relative to base.
func (o Options) absolute(path, base string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = filepath.Join(o.Home, strings.TrimPrefix(path[1:], "/"))
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}

// stateDirLine finds state_dir in a file that is no YAML, in the line where it would
// have to be. Without one it returns usual.
func (d *decoder) stateDirLine(data []byte, usual string) string {
	for line := range strings.Lines(string(data)) {
		var one struct {
			StateDir string `yaml:"state_dir"`
		}
		if !strings.HasPrefix(line, "state_dir:") || yaml.Unmarshal([]byte(line), &one) != nil {
			continue
		}
		if dir, _, err := d.expand(one.StateDir); err == nil && dir != "" {
			return d.opts.absolute(dir, d.base)
		}
	}
	return usual
}

// parse is Load without the search. The decoder has the problems.
func parse(data []byte, src Source, o Options) (*Config, *decoder) {
	c := defaults(o)
	c.source = src
	if _, service := o.Env("STATE_DIRECTORY"); !service && filepath.Dir(src.Path) == o.System {
		// Every command, whoever runs it, uses the state of the service.
		c.StateDir = systemStateDir
	}
	base := o.Dir
	if src.Path != "" {
		base = filepath.Dir(src.Path)
	}
	d := &decoder{file: src.Path, base: base, opts: o, marks: map[string]mark{}}
	if root := d.document(data); root != nil {
		d.value(root, "", reflect.ValueOf(c).Elem(), field{})
	}
	c.addDefaultChannels(o.Types)
	if !d.fatal {
		v := &validator{decoder: d, c: c}
		v.run()
		if d.literalSecret {
			v.readers(src.Path, o.daemonOf(c.StateDir, src.Path))
		}
		c.warnings, c.absent = v.warnings.sorted(), d.absent
	}
	return c, d
}

// document reads the YAML itself. It returns nil for an empty file and after
// a problem.
func (d *decoder) document(data []byte) *yaml.Node {
	d.fatal = true
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for i, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) {
			d.problem(i+1, "", "this is not UTF-8 text", "save the file as UTF-8")
			return nil
		}
	}
	docs, err := readYAML(data)
	switch {
	case err != nil:
		d.syntax(data, err)
		return nil
	case len(docs) > 1:
		d.problem(docs[1].Line, "", "a second YAML document begins here", "keep one, without --- between parts")
		return nil
	case len(docs) == 1 && settle(docs[0], map[*yaml.Node]int{}) >= maxNodes:
		d.problem(0, "", "its aliases (*name) make it too large", "write the values out")
		return nil
	}
	d.fatal = false
	if len(docs) == 0 || len(docs[0].Content) == 0 {
		return nil
	}
	return docs[0].Content[0]
}

// readYAML parses up to two documents; the caller refuses the second. Panics of the
// parser become errors.
func readYAML(data []byte) (docs []*yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("yaml: this cannot be read as YAML")
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for len(docs) < 2 {
		var n yaml.Node
		if err := dec.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		docs = append(docs, &n)
	}
	return docs, nil
}

// readLimited reads a regular file of at most limit bytes. It refuses pipes and
// devices, which could block.
func readLimited(path string, limit int64) (data []byte, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	case info.Size() > limit:
		return nil, fmt.Errorf("has more than %s", Size(limit))
	default:
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %s", reason(err))
	}
	return data, nil
}

// reason is the text of err without its path, which the message has already.
func reason(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}
