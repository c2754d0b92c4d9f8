package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (k *completionCmd) Run(e *env, _ *cli) error {
	_, err := fmt.Fprint(e.out, completions[k.Shell])
	return err
}

// completions are scripts that ask the program itself for the next words.
var completions = map[string]string{
	"bash": `# Completion for dragoman. In ~/.bashrc: source <(dragoman completion bash)
_dragoman() {
    local current=${COMP_WORDS[COMP_CWORD]}
    case ${COMP_WORDS[COMP_CWORD-1]} in
        -c|--config|-o|--output) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
    COMPREPLY=($(compgen -W "$(dragoman complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null | cut -d: -f1)" -- "$current"))
}
complete -F _dragoman dragoman
`,
	"zsh": `#compdef dragoman
# Completion for dragoman. In a folder of $fpath: dragoman completion zsh > _dragoman
_dragoman() {
    case ${words[CURRENT-1]} in
        -c|--config|-o|--output) _files; return ;;
    esac
    local -a next
    next=("${(@f)$(dragoman complete "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
    _describe dragoman next
}
if [ "${funcstack[1]}" = _dragoman ]; then _dragoman; else compdef _dragoman dragoman; fi
`,
	"fish": `# Completion for dragoman: dragoman completion fish > ~/.config/fish/completions/dragoman.fish
complete -c dragoman -f -a "(dragoman complete (commandline -opc)[2..-1] 2>/dev/null | string replace : \t)"
complete -c dragoman -s c -l config -r -F -d "The configuration"
complete -c dragoman -s o -l output -r -F
`,
}

// completeCmd prints the possible next words, each with its help.
type completeCmd struct {
	Words []string `arg:"" optional:""`
}

func (k *completeCmd) Run(e *env, _ *cli) error {
	n := e.parser.Model.Node
	for i, word := range k.Words {
		for _, child := range commandsOf(n) {
			if child.Name == word && (i == 0 || k.Words[i-1] != "-c" && k.Words[i-1] != "--config") {
				n = child
				break
			}
		}
	}
	for _, child := range commandsOf(n) {
		e.say("%s:%s", child.Name, child.Help)
	}
	for _, arg := range n.Positional {
		if arg.Enum != "" {
			e.say("%s:", strings.Join(arg.EnumSlice(), ":\n"))
		}
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
