package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// cli is the command line. Its tags are its help.
type cli struct {
	Config string `short:"c" placeholder:"FILE" help:"The configuration. Default: $$DRAGOMAN_CONFIG, ./dragoman.yaml, ~/.config/dragoman/config.yaml, /etc/dragoman/config.yaml (first under sudo), built-in defaults."`

	Init       initCmd       `cmd:"" help:"Ask a few questions, write a configuration and test it."`
	Run        runCmd        `cmd:"" help:"Start the gateway and serve until a signal ends it."`
	Chat       chatCmd       `cmd:"" help:"Talk to it in this terminal."`
	Ask        askCmd        `cmd:"" help:"Ask the running daemon one question in any conversation, and wait for the answer."`
	Check      checkCmd      `cmd:"" help:"Check the configuration and list every problem."`
	Models     modelsCmd     `cmd:"" help:"List the models of the server, and say what is wrong with it."`
	Status     statusCmd     `cmd:"" help:"Show the state of the daemon, its channels and its queues."`
	Nodes      nodesCmd      `cmd:"" help:"List the daemons that share the database, and what each does."`
	Logs       logsCmd       `cmd:"" help:"Show the log of the service."`
	Usage      usageCmd      `cmd:"" help:"Show turns, tokens and costs by day, model, person or chat."`
	Sessions   sessionsCmd   `cmd:"" help:"Find, show, tag, tune, join, export, import, migrate and erase conversations."`
	Queue      queueCmd      `cmd:"" help:"List unanswered messages and undelivered answers, retry or drop them."`
	Backup     backupCmd     `cmd:"" help:"Save everything that must survive to one file, even while the daemon runs."`
	Restore    restoreCmd    `cmd:"" help:"Put a backup into an empty state directory."`
	Jobs       jobsCmd       `cmd:"" help:"List the scheduled jobs, or run one now."`
	Pair       pairCmd       `cmd:"" help:"Let people in who asked, or shut them out again."`
	People     peopleCmd     `cmd:"" help:"Say which identities on several networks are one person."`
	Token      tokenCmd      `cmd:"" help:"Make, list, renew and revoke tokens for the page, programs and other people."`
	Console    consoleCmd    `cmd:"" help:"Print a link that opens the page once, as the operator."`
	MCP        mcpCmd        `cmd:"" name:"mcp" help:"Other agents that read conversations, and servers of tools for the model: the Model Context Protocol."`
	Skills     skillsCmd     `cmd:"" help:"List and check the skills of skills.dir, and accept them."`
	Login      loginCmd      `cmd:"" help:"Link a WhatsApp channel to a phone."`
	Logout     logoutCmd     `cmd:"" help:"Forget the account that a WhatsApp channel is linked to."`
	Completion completionCmd `cmd:"" help:"Print a completion script for bash, zsh or fish."`
	Complete   completeCmd   `cmd:"" hidden:"" passthrough:"" help:"Print what may come next on a command line."`
	Man        manCmd        `cmd:"" hidden:"" help:"Print the manual page."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Help       helpCmd       `cmd:"" help:"Explain a command."`
}

// keyArg and jsonFlag are embedded in many commands.
type keyArg struct {
	Key string `arg:"" help:"The conversation, like telegram:123456."`
}

// jsonFlag is the --json of commands that also print for programs.
type jsonFlag struct {
	JSON bool `help:"Print JSON."`
}

// helpCmd is "dragoman help", for people who type that instead of --help.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command to explain."`
}

func (h *helpCmd) Run(e *env, _ *cli) error {
	_, err := parse(e.parser, append(h.Command, "--help"))
	if unknown, ok := noCommand(e.parser.Model.Node, h.Command, err); ok {
		return &usageError{unknown}
	}
	if !errors.Is(err, errHelped) {
		return &usageError{fmt.Sprintf("there is no command %s", strings.Join(h.Command, " "))}
	}
	return nil
}

// versionCmd is "dragoman version".
type versionCmd struct{}

func (versionCmd) Run(e *env, _ *cli) error {
	e.say("dragoman %s", programVersion())
	return nil
}

// version is set by the linker for releases.
var version string

// programVersion is the release, or the commit that the program was built from.
func programVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	if revision != "" {
		return "dev-" + revision + changed
	}
	return "dev"
}

// The help of commands whose arguments are hard to guess shows an example.

func example(line string) string { return "Example:\n\n    dragoman " + line }

func (*sessionsListCmd) Help() string {
	return example("sessions list --channel telegram --meta team=blue")
}

func (*sessionsSetCmd) Help() string {
	return example(`sessions set telegram:123456 model=small-1 "system=Be brief." meta.team=blue`)
}

func (*sessionsFactsCmd) Help() string { return example("sessions facts telegram:123456 --forget 3") }

func (*sessionsMigrateCmd) Help() string {
	return example("sessions migrate --from sqlite --to file")
}

func (*sessionsImportCmd) Help() string {
	return example("sessions import chat.json --key telegram:123456 --dry-run")
}

func (*sessionsExportCmd) Help() string {
	return example("sessions export telegram:123456 --format markdown --out chat.md")
}

func (*queueRetryCmd) Help() string { return example("queue retry out/telegram:123456/7") }

func (*tokenCreateCmd) Help() string {
	return example("token create laptop --scope operate --expires 90d")
}

func (*skillsAcceptCmd) Help() string { return example("skills accept invoices") }

func (*pairApproveCmd) Help() string { return example("pair approve ABCD-EFGH") }
func (*pairRefuseCmd) Help() string  { return example("pair refuse ABCD-EFGH") }
