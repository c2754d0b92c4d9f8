package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd is "dragoman completion": the script for a shell. The shell then
// calls [completeCmd] for the suggestions.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (k *completionCmd) Run(e *env, _ *cli) error {
	_, err := fmt.Fprint(e.out, completions[k.Shell])
	return err
}

// anyFile is the line of completeCmd after which any file may come.
const anyFile = ":files"

// completions are scripts that ask the program itself for the next words. bash takes
// --flag=value for three words.
var completions = map[string]string{
	"bash": `# Completion for dragoman. In ~/.bashrc: source <(dragoman completion bash)
_dragoman() {
    local current=${COMP_WORDS[COMP_CWORD]} n=$COMP_CWORD next i
    [ "$current" != = ] || current=
    if [ "$current" = : ] && ((n > 1)); then
        n=$((n - 1)) current=${COMP_WORDS[n]}:
    fi
    while ((n > 2)) && [ "${COMP_WORDS[n-1]}" = : ]; do # telegram:7 is three words
        n=$((n - 2)) current=${COMP_WORDS[n]}:$current
    done
    next=$(dragoman complete "${COMP_WORDS[@]:1:n-1}" 2>/dev/null)
    if [[ $next = *:files* && $current != -* ]]; then
        compopt -o filenames 2>/dev/null
        local IFS=$'\n' # mapfile is newer than the bash of macOS
        COMPREPLY=($(compgen -f -- "$current"))
    else
        COMPREPLY=($(compgen -W "$(sed 's/\([^\\]\):.*/\1/; s/\\:/:/g' <<<"$next")" -- "$current"))
        for i in "${!COMPREPLY[@]}"; do # bash keeps what comes before a colon
            COMPREPLY[i]=${COMPREPLY[i]#"${current%"${current##*:}"}"}
        done
    fi
}
complete -F _dragoman dragoman
`,
	"zsh": `#compdef dragoman
# Completion for dragoman. In a folder of $fpath: dragoman completion zsh > _dragoman
_dragoman() {
    local -a before next
    before=("${(@)words[2,CURRENT-1]}")
    if [[ $words[CURRENT] = --*=* ]]; then
        before+=("${words[CURRENT]%%=*}")
        compset -P '*='
    fi
    next=("${(@f)$(dragoman complete "${before[@]}" 2>/dev/null)}")
    if (( $next[(Ie):files] )) && [[ $PREFIX != -* ]]; then _files; return; fi
    _describe dragoman next
}
if [ "${funcstack[1]}" = _dragoman ]; then _dragoman; else compdef _dragoman dragoman; fi
`,
	"fish": `# Completion for dragoman: dragoman completion fish > ~/.config/fish/completions/dragoman.fish
function __dragoman_complete
    set -l next (dragoman complete (commandline -opc)[2..-1] 2>/dev/null)
    if contains :files $next; and not string match -q -- '-*' (commandline -ct)
        __fish_complete_path (commandline -ct)
    else
        string replace -r '([^\\\\]):' '$1\t' -- $next | string replace -a '\:' ':'
    end
end
complete -c dragoman -f -a "(__dragoman_complete)"
complete -c dragoman -s c -l config -r -F -d "The configuration"
complete -c dragoman -s o -l out -r -F
`,
}

// completeCmd prints the possible next words, each with its help.
type completeCmd struct {
	Words []string `arg:"" optional:""`
}

func (k *completeCmd) Run(e *env, _ *cli) error {
	root := e.parser.Model.Node
	n := root
	args := 0
	helped := false
	var open *kong.Value // a flag whose value comes next
	words := joined(k.Words)
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		child := childOf(n, word)
		switch {
		case open != nil:
			open = nil
		case strings.HasPrefix(word, "-"):
			open = flagOf(n, name)
			if value != "" {
				open = nil
			}
		case child != nil && child.Parent == root && child.Name == "help":
			helped = true
		case child != nil:
			n, args = child, 0
		default:
			args++
		}
	}
	if open != nil {
		e.sayValues(open, words)
		return nil
	}
	for _, child := range commandsOf(n) {
		e.say("%s:%s", child.Name, child.Help)
	}
	if helped {
		return nil
	}
	if last := len(n.Positional) - 1; last >= 0 && (args <= last || n.Positional[last].IsCumulative()) {
		e.sayValues(n.Positional[min(args, last)], words)
	}
	for node := n; node != nil; node = node.Parent {
		for _, f := range node.Flags {
			if !f.Hidden && (f.Name != "help" || node.Parent == nil) {
				e.say("--%s:%s", f.Name, f.Help)
			}
		}
	}
	return nil
}

// joined joins the parts of words that bash divides at = and :.
func joined(parts []string) (words []string) {
	divided := false
	for _, part := range parts {
		sign := part == "=" || part == ":"
		if last := len(words) - 1; last >= 0 && (sign || divided) {
			words[last] += part
		} else {
			words = append(words, part)
		}
		divided = sign
	}
	return words
}

// sayValues prints what v may be on a line with these words, as far as that is known.
func (e *env) sayValues(v *kong.Value, words []string) {
	list := running[v.Name]
	switch {
	case list != nil && (v.Flag == nil || v.Flag.PlaceHolder == "KEY"):
		e.sayRunning(words, list)
	case v.Enum != "":
		e.say("%s:", strings.Join(v.EnumSlice(), ":\n"))
	case v.Name == "file", v.Flag != nil && v.Flag.PlaceHolder == "FILE":
		e.say(anyFile)
	}
}

// flagOf returns the flag of n or its parents that is called name, if it has a value.
func flagOf(n *kong.Node, name string) *kong.Value {
	for ; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			names := append([]string{f.Name}, f.Aliases...)
			if name == "-"+string(f.Short) || slices.Contains(names, strings.TrimPrefix(name, "--")) {
				if f.IsBool() {
					return nil
				}
				return f.Value
			}
		}
	}
	return nil
}

func childOf(n *kong.Node, name string) *kong.Node {
	for _, child := range commandsOf(n) {
		if child.Name == name {
			return child
		}
	}
	return nil
}

func commandsOf(n *kong.Node) []*kong.Node {
	var list []*kong.Node
	for _, child := range n.Children {
		if child.Type == kong.CommandNode && !child.Hidden {
			list = append(list, child)
		}
	}
	return list
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
