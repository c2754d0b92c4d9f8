package mcp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/internal/lazily"
)

// interpreters run a script that their arguments name. starters run what somebody else made
// available, which their arguments name by a version.
var (
	interpreters = lazily.Compile(`^(node|nodejs|deno|bun|tsx|ts-node|python|pypy|ruby|perl|php|lua|luajit|sh|bash|dash|ash|zsh|ksh|fish|java|dotnet|Rscript|tclsh|guile|pwsh|env|uv)[0-9.]*$`)
	starters     = lazily.Compile(`^(npx|npm|pnpm|pnpx|yarn|bunx|uvx|pipx|docker|podman|nerdctl)$`)
)

func isInterpreter(program string) bool { return interpreters.Matches(filepath.Base(program)) }

func isStarter(program string) bool {
	return isInterpreter(program) || starters.Matches(filepath.Base(program))
}

// isSystem reports whether a file belongs to the system, whose updates change it.
func isSystem(path string) bool {
	return slices.ContainsFunc([]string{"/usr/bin/", "/usr/lib/", "/usr/libexec/", "/usr/share/", "/usr/sbin/", "/bin/", "/sbin/", "/lib/"}, func(folder string) bool {
		return strings.HasPrefix(path, folder)
	})
}

var (
	// inline are options after which no script comes: the code is in the command, or is found
	// by the name of a module. Shells have other ones.
	inline      = []string{"-c", "-e", "-m", "-p", "-pe", "--eval", "--print"}
	inlineShell = lazily.Compile(`^-[a-z]*c$`)
	shells      = lazily.Compile(`^(sh|bash|dash|ash|zsh|ksh|fish)$`)
	// loading are options of interpreters whose value is a file of code.
	loading = []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "--preload", "-cp", "-classpath", "--class-path"}
	// folders are options that name the folder from which on paths count.
	folders = []string{"--directory", "--cwd"}
	// subcommands come before a script.
	subcommands = []string{"run", "exec", "x", "serve"}
)

// search looks for a script in a command.
type search struct {
	dir   string // where it runs; "": in a folder that we cannot look at
	shell bool
	names []string // what was found, as it is written, or in dir
}

// scriptFiles returns the script in the command of an interpreter, and files that options before
// it name. What comes after the script is not looked at.
func scriptFiles(command []string, dir string) []string {
	s := &search{dir: dir, shell: shells.Matches(filepath.Base(command[0]))}
	option := ""
	for i, arg := range command[1:] {
		before := option
		option = ""
		switch {
		case strings.HasPrefix(arg, "-") && s.isInline(arg):
			return s.names
		case strings.HasPrefix(arg, "-"):
			option = s.option(arg)
		case slices.Contains(loading, before):
			s.found(arg)
		case slices.Contains(folders, before):
			s.dir = s.at(arg)
		case before == "" && (slices.Contains(subcommands, arg) || isAssignment(arg)):
		case before != "" && !s.isFile(arg): // its value
		case isInterpreter(arg): // of env, or of "uv run"
			return append(s.names, scriptFiles(command[i+1:], s.dir)...)
		default:
			s.found(arg)
			return s.names
		}
	}
	return s.names
}

func (s *search) isInline(option string) bool {
	if s.shell {
		return inlineShell.Matches(option)
	}
	return slices.Contains(inline, option)
}

// option looks at an option, and returns it if its value may be the next argument.
func (s *search) option(arg string) string {
	name, value, attached := strings.Cut(arg, "=")
	switch {
	case !attached:
		return arg
	case slices.Contains(folders, name):
		s.dir = s.at(value)
	case slices.Contains(loading, name):
		s.found(value)
	}
	return ""
}

func (s *search) found(name string) { s.names = append(s.names, s.at(name)) }

// at is a path of the command, from the folder on where it counts.
func (s *search) at(path string) string {
	if filepath.IsAbs(path) || s.dir == "" {
		return path
	}
	return filepath.Join(s.dir, path)
}

// isFile reports whether a path of the command is a file, or may be one where we cannot look.
func (s *search) isFile(path string) bool {
	at := s.at(path)
	if !filepath.IsAbs(at) {
		return strings.ContainsAny(path, "./")
	}
	info, err := os.Stat(at)
	return errors.Is(err, fs.ErrPermission) || err == nil && info.Mode().IsRegular()
}

// isAssignment reports whether env sets a variable with arg.
func isAssignment(arg string) bool {
	name, _, found := strings.Cut(arg, "=")
	return found && !strings.Contains(name, "/")
}
