package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

// initCmd is "dragoman init": it asks a newcomer a few questions and writes a
// configuration that works.
type initCmd struct {
	File string `arg:"" optional:"" default:"dragoman.yaml" help:"Where to write it (dragoman.yaml)."`
}

func (*initCmd) Help() string {
	return "It asks for a model and a Telegram bot, writes a configuration with comments, and tests the model. Enter accepts the value in brackets. Secrets are written to separate files that only you can read."
}

// provider is a choice that "init" offers for the model.
type provider struct {
	name, base, keys string // keys: the page on which people make a key
	model            string // an example; "": Dragoman chooses one that the server has
}

var providers = []provider{
	{name: "an Ollama on this machine"},
	{name: "OpenAI", keys: "https://platform.openai.com/api-keys"},
	{name: "Anthropic", base: "https://api.anthropic.com/v1", keys: "https://console.anthropic.com/settings/keys", model: "claude-sonnet-5"},
	{name: "Gemini", base: "https://generativelanguage.googleapis.com/v1beta/openai", keys: "https://aistudio.google.com/apikey", model: "gemini-3-flash"},
	{name: "OpenRouter", base: "https://openrouter.ai/api/v1", keys: "https://openrouter.ai/keys"},
	{name: "another server that speaks OpenAI's API (llama.cpp, vLLM, …)"},
	{name: "none yet: the built-in demo"},
}

// The indexes of the providers with questions different from the others'.
const (
	askOllama = 0
	askOther  = 5
	askDemo   = 6
)

func (k *initCmd) Run(e *env, _ *cli) error {
	file, err := filepath.Abs(k.File)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return plainErrorf(nil, "%s exists already and was not changed; name another file, or edit that one", k.File)
	}
	a := &asking{e: e, in: bufio.NewReader(e.in), dir: filepath.Dir(file)}
	text := a.configuration()
	if a.err != nil {
		return a.err
	}
	if err := writeNew(file, text); err != nil {
		return plainErrorf(err, "%s cannot be written", k.File)
	}
	e.say("\nWritten: %s. config.example.yaml has all other settings.", k.File)
	cfg, err := e.load(file)
	if err != nil {
		return err
	}
	if err := e.checkOnline(cfg); err != nil {
		e.say("Correct that in the file, then run: %s -c %s check --online", e.program, shellWord(k.File))
		return err
	}
	start := e.program + " run"
	if k.File != "dragoman.yaml" {
		start = e.program + " -c " + shellWord(k.File) + " run"
	}
	e.say("Start it with: %s", start)
	return nil
}

// asking asks a person questions. After the first error it asks nothing more.
type asking struct {
	e   *env
	in  *bufio.Reader
	dir string // for the files with secrets
	err error
}

// configuration asks everything and returns the file's text.
func (a *asking) configuration() string {
	var b strings.Builder
	b.WriteString("# Dragoman's configuration. config.example.yaml has all settings.\n\n")
	a.e.say("Which model should answer?")
	for i, p := range providers {
		a.e.say("  %d  %s", i+1, p.name)
	}
	a.model(&b, a.choose(len(providers)))
	a.e.say("\nTelegram: @BotFather gives you a token for a new bot (/newbot). Leave it empty to skip Telegram for now.")
	if token := a.secret("Token"); token != "" {
		fmt.Fprintf(&b, "\nchannels:\n  telegram:\n    token: \"${file:%s}\"\n    # Strangers get a code; dragoman pair approve CODE lets them in.\n    pairing: true\n", a.keep("telegram.token", token))
	}
	return b.String()
}

// model writes the "model" section for the provider with that index.
func (a *asking) model(b *strings.Builder, which int) {
	p := providers[which]
	switch which {
	case askDemo:
		b.WriteString("model:\n  # Follows simple rules and needs no network. Take this out to connect a real one.\n  type: demo\n")
		return
	case askOllama:
		b.WriteString("# The model is the first that the Ollama on this machine has and that can call\n# tools. To choose another: model: {name: qwen3}\n")
		return
	case askOther:
		p.base = a.must("Its address, like http://127.0.0.1:8080/v1", "", "Dragoman needs the address of the server.")
	}
	b.WriteString("model:\n")
	if p.base != "" {
		fmt.Fprintf(b, "  base_url: %s\n", p.base)
	}
	if p.keys != "" {
		a.e.say("You can make a key at %s", p.keys)
	}
	question := "Key"
	if which == askOther {
		question = "Key (leave it empty if the server needs none)"
	}
	if key := a.secret(question); key != "" {
		fmt.Fprintf(b, "  api_key: \"${file:%s}\"\n", a.keep("model.key", key))
	}
	if p.base == "" {
		b.WriteString("  # Dragoman chooses one of the server's models; dragoman models lists them.\n")
		return
	}
	name := a.must("The model's name on that server", p.model, "This server needs a name. It lists its models at "+strings.TrimRight(p.base, "/")+"/models.")
	fmt.Fprintf(b, "  name: %q\n", name)
}

// must asks up to three times for a line that must not be empty.
func (a *asking) must(question, usual, why string) string {
	for range 3 {
		if text := a.line(question, usual); text != "" || a.err != nil {
			return text
		}
		a.e.say("%s", why)
	}
	a.err = &usageError{"an answer is missing; nothing was written"}
	return ""
}

// line asks for one line. At the end of the input it returns usual, as for an empty
// one.
func (a *asking) line(question, usual string) string {
	if usual != "" {
		question += " [" + usual + "]"
	}
	_, _ = fmt.Fprint(a.e.out, question+": ")
	text, err := a.in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) && a.err == nil {
		a.err = err
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return usual
	}
	return text
}

func (a *asking) secret(question string) string {
	f, terminal := a.e.in.(*os.File)
	if !terminal || !term.IsTerminal(int(f.Fd())) {
		return a.line(question, "")
	}
	_, _ = fmt.Fprint(a.e.out, question+" (hidden while you type): ")
	text, err := term.ReadPassword(int(f.Fd()))
	a.e.say("")
	if err != nil && a.err == nil {
		a.err = err
	}
	return strings.TrimSpace(string(text))
}

// choose asks for a number from 1 to n and returns it minus one.
func (a *asking) choose(n int) int {
	for range 3 {
		text := a.line("Number", "1")
		var i int
		if _, err := fmt.Sscan(text, &i); err == nil && i >= 1 && i <= n {
			return i - 1
		}
		a.e.say("Write a number from 1 to %d.", n)
	}
	if a.err == nil {
		a.err = &usageError{"no model was chosen"}
	}
	return askDemo
}

// keep writes a secret to a new file beside the configuration and returns the
// file's name. It never changes an existing file.
func (a *asking) keep(name, secret string) string {
	file := name
	for n := 2; ; n++ {
		err := writeNew(filepath.Join(a.dir, file), secret+"\n")
		if !errors.Is(err, fs.ErrExist) {
			if err != nil && a.err == nil {
				a.err = plainErrorf(err, "%s cannot be written", file)
			}
			return file
		}
		file = fmt.Sprintf("%s-%d", name, n)
	}
}

// writeNew makes a file that only its owner can read. Errors: fs.ErrExist.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
