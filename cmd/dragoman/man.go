package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// manCmd prints the manual, which make install puts where man looks.
type manCmd struct{}

// Run writes roff: man(7) of the help that --help shows.
func (manCmd) Run(e *env, _ *cli) error {
	var b strings.Builder
	root := e.parser.Model.Node
	b.WriteString(".TH DRAGOMAN 1\n.SH NAME\ndragoman \\- one assistant, many chats\n.SH SYNOPSIS\n.B dragoman\n[\\-c FILE] COMMAND\n.SH DESCRIPTION\n")
	b.WriteString(roff(e.parser.Model.Help) + "\n.SH OPTIONS\n")
	manFlags(&b, root)
	b.WriteString(".SH COMMANDS\n")
	manCommands(&b, root)
	b.WriteString(`.SH EXIT STATUS
0 if all went well, 1 if something failed, 64 if the command line or the configuration is wrong.
.B dragoman status
exits with 3 if no daemon is running, and with 1 if something is wrong.
.SH FILES
.TP
.I /etc/dragoman/config.yaml
The configuration of the machine's service. With it the state is in
.I /var/lib/dragoman
unless it says otherwise.
.TP
.I ~/.config/dragoman/config.yaml
One person's configuration; the state is in
.IR ~/.local/state/dragoman .
`)
	_, err := fmt.Fprint(e.out, b.String())
	return err
}

func manCommands(b *strings.Builder, n *kong.Node) {
	for _, child := range commandsOf(n) {
		if len(commandsOf(child)) > 0 {
			manCommands(b, child)
			continue
		}
		fmt.Fprintf(b, ".SS %s\n%s\n", roff(child.FullPath()), roff(child.Help))
		if child.Detail != "" {
			fmt.Fprintf(b, ".PP\n%s\n", roff(strings.Join(strings.Fields(child.Detail), " ")))
		}
		manFlags(b, child)
	}
}

func manFlags(b *strings.Builder, n *kong.Node) {
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		name := "--" + f.Name
		if f.Short != 0 {
			name = fmt.Sprintf("-%c, %s", f.Short, name)
		}
		if !f.IsBool() {
			name += "=" + f.FormatPlaceHolder()
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(name), roff(f.Help))
	}
}

// roff escapes s, so that man does not take it for instructions.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
