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
	var script string
	switch k.Shell {
	case "bash":
		script = bashCompletion(e.parser.Model.Node)
	case "zsh":
		script = zshCompletion(e.parser.Model.Node)
	case "fish":
		script = fishCompletion(e.parser.Model.Node)
	}
	_, err := fmt.Fprint(e.out, script)
	return err
}

// bashCompletion offers commands, then the flags of the command so far.
func bashCompletion(root *kong.Node) string {
	var b strings.Builder
	b.WriteString(`# Completion for dragoman. In ~/.bashrc: source <(dragoman completion bash)
_dragoman() {
    local word path="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
            -c|--config) ((i++)) ;;
            -*) ;;
            *) path+=" $word" ;;
        esac
    done
    local current=${COMP_WORDS[COMP_CWORD]} words
    case ${COMP_WORDS[COMP_CWORD-1]} in
        -c|--config|-o|--output) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
    case $path in
`)
	for _, n := range leavesLast(root) {
		fmt.Fprintf(&b, "        %q*) words=%q ;;\n", pathOf(n), strings.Join(wordsAfter(n), " "))
	}
	fmt.Fprintf(&b, "        *) words=%q ;;\n", strings.Join(wordsAfter(root), " "))
	b.WriteString(`    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _dragoman dragoman
`)
	return b.String()
}

func zshCompletion(root *kong.Node) string {
	var b strings.Builder
	b.WriteString(`#compdef dragoman
# Completion for dragoman. In a folder of $fpath: dragoman completion zsh > _dragoman
_dragoman() {
    local -a commands
    local i spoken=""
    for ((i = 2; i < CURRENT; i++)); do
        case ${words[i]} in
            -c|--config) ((i++)) ;;
            -*) ;;
            *) spoken+=" ${words[i]}" ;;
        esac
    done
    case ${words[CURRENT-1]} in
        -c|--config|-o|--output) _files; return ;;
    esac
    case $spoken in
`)
	entry := func(pattern string, n *kong.Node) {
		fmt.Fprintf(&b, "        %s) commands=(", pattern)
		for _, child := range commandsOf(n) {
			fmt.Fprintf(&b, "\n            %s", shellQuote(child.Name+":"+strings.ReplaceAll(child.Help, ":", `\:`)))
		}
		for _, flag := range flagsOf(n) {
			fmt.Fprintf(&b, "\n            %s", shellQuote(flag.name+":"+strings.ReplaceAll(flag.help, ":", `\:`)))
		}
		b.WriteString(") ;;\n")
	}
	for _, n := range leavesLast(root) {
		entry(fmt.Sprintf("%q*", pathOf(n)), n)
	}
	entry("*", root)
	b.WriteString(`    esac
    _describe dragoman commands
}
compdef _dragoman dragoman
`)
	return b.String()
}

func fishCompletion(root *kong.Node) string {
	var b strings.Builder
	b.WriteString("# Completion for dragoman: dragoman completion fish > ~/.config/fish/completions/dragoman.fish\ncomplete -c dragoman -f\n")
	var all []string
	for _, n := range commandsOf(root) {
		all = append(all, n.Name)
	}
	fmt.Fprintf(&b, "complete -c dragoman -s c -l config -r -F -d %s\n", shellQuote("The configuration"))
	for _, n := range commandsOf(root) {
		fmt.Fprintf(&b, "complete -c dragoman -n %s -a %s -d %s\n", shellQuote("not __fish_seen_subcommand_from "+strings.Join(all, " ")), n.Name, shellQuote(n.Help))
		var children []string
		for _, child := range commandsOf(n) {
			children = append(children, child.Name)
		}
		for _, child := range commandsOf(n) {
			seen := fmt.Sprintf("__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from %s", n.Name, strings.Join(children, " "))
			fmt.Fprintf(&b, "complete -c dragoman -n %s -a %s -d %s\n", shellQuote(seen), child.Name, shellQuote(child.Help))
			for _, flag := range flagsOf(child) {
				seen := fmt.Sprintf("__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s", n.Name, child.Name)
				fmt.Fprintf(&b, "complete -c dragoman -n %s -l %s -d %s\n", shellQuote(seen), strings.TrimPrefix(flag.name, "--"), shellQuote(flag.help))
			}
		}
		for _, flag := range flagsOf(n) {
			fmt.Fprintf(&b, "complete -c dragoman -n %s -l %s -d %s\n", shellQuote("__fish_seen_subcommand_from "+n.Name), strings.TrimPrefix(flag.name, "--"), shellQuote(flag.help))
		}
	}
	return b.String()
}

// leavesLast lists the commands so that a longer path stands before the path
// it begins with.
func leavesLast(root *kong.Node) []*kong.Node {
	var list []*kong.Node
	for _, n := range commandsOf(root) {
		list = append(list, leavesLast(n)...)
		list = append(list, n)
	}
	return list
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

type flagHelp struct{ name, help string }

// flagsOf lists a command's own flags; --config and --help go everywhere.
func flagsOf(n *kong.Node) []flagHelp {
	var list []flagHelp
	for _, f := range n.Flags {
		if !f.Hidden && f.Name != "help" && f.Name != "config" {
			list = append(list, flagHelp{"--" + f.Name, f.Help})
		}
	}
	return list
}

func wordsAfter(n *kong.Node) []string {
	var words []string
	for _, child := range commandsOf(n) {
		words = append(words, child.Name)
	}
	for _, f := range flagsOf(n) {
		words = append(words, f.name)
	}
	for _, arg := range n.Positional {
		words = append(words, arg.EnumSlice()...)
	}
	return append(words, "--config", "--help")
}

// pathOf is " sessions list".
func pathOf(n *kong.Node) string {
	if n == nil || n.Type != kong.CommandNode {
		return ""
	}
	return pathOf(n.Parent) + " " + n.Name
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
