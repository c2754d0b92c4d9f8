package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dragoman/internal/app"
)

// initCmd is "dragoman init": it asks a newcomer a few questions and writes a
// configuration that works.
type initCmd struct {
	File        string `arg:"" optional:"" help:"Where to write it. Default: the file of --config, else dragoman.yaml."`
	TelegramAPI string `placeholder:"URL" help:"The Bot API server of the Telegram bot, if it is not Telegram's own."`
}

func (*initCmd) Help() string {
	return "It asks for a model and a Telegram bot, tests both, and writes a configuration with comments. Enter accepts the value in brackets. Secrets are written to separate files that only you can read. Nothing is written before the last answer."
}

// provider is a choice that "init" offers for the model.
type provider struct {
	name, base, keys string // keys: the page on which people make a key
	model            string // an example; "": Dragoman chooses one that the server has
	lists            string // where its models are listed, if base is empty
}

var providers = []provider{
	{name: "an Ollama on this machine", lists: "http://127.0.0.1:11434/v1"},
	{name: "OpenAI", lists: "https://api.openai.com/v1", keys: "https://platform.openai.com/api-keys"},
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

func (k *initCmd) Run(e *env, c *cli) error {
	name, err := k.file(c)
	if err != nil {
		return err
	}
	file, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return plainErrorf(nil, "%s exists already and was not changed; name another file, or edit that one", name)
	}
	a := &asking{e: e, in: bufio.NewReader(e.in), dir: filepath.Dir(file), botAPI: k.TelegramAPI}
	text := a.configuration()
	if a.err != nil {
		return a.err
	}
	if err := a.write(file, text); err != nil {
		return plainErrorf(err, "%s cannot be written", name)
	}
	e.say("\nWritten: %s. config.example.yaml has all other settings.", name)
	e.config = "" // of the commands below
	if name != "dragoman.yaml" {
		e.config = name
	}
	cfg, err := e.load(file)
	if err != nil {
		return err
	}
	if err := e.checkOnline(cfg); err != nil {
		e.say("Correct that in the file, then run: %s", e.command("check --online"))
		return err
	}
	e.say("Start it with: %s", e.command("run"))
	return nil
}

// file is where the configuration is written: where "run" will look for it, unless
// another file is named.
func (k *initCmd) file(c *cli) (string, error) {
	if k.File != "" && c.Config != "" && k.File != c.Config {
		return "", &usageError{fmt.Sprintf("init was given two files, %s and %s; name one", c.Config, k.File)}
	}
	return cmp.Or(k.File, c.Config, os.Getenv("DRAGOMAN_CONFIG"), "dragoman.yaml"), nil
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
	a.telegram(&b)
	return b.String()
}

// telegram writes the "channels" section, if there is a bot.
func (a *asking) telegram(b *strings.Builder) {
	a.e.say("\nTelegram: @BotFather gives you a token for a new bot (/newbot). Leave it empty to skip Telegram for now.")
	token := a.token()
	if token == "" {
		return
	}
	fmt.Fprintf(b, "\nchannels:\n  telegram:\n    token: \"${file:%s}\"\n", a.keep("telegram.token", token))
	if a.botAPI != "" {
		fmt.Fprintf(b, "    api_url: %q\n", a.botAPI)
	}
	b.WriteString("    # Strangers get a code; dragoman pair approve CODE lets them in.\n    pairing: true\n")
}

// token asks for a bot's token until Telegram knows it, at most three times. If Telegram
// cannot be asked, it takes what was written.
func (a *asking) token() string {
	for range 3 {
		token := a.secret("Token")
		if token == "" || a.err != nil {
			return ""
		}
		bot, err := a.e.daemon.askTelegram(a.e.ctx, token, a.botAPI)
		switch {
		case err == nil:
			a.e.say("This is the token of @%s.", oneLine(bot))
			return token
		case !errors.Is(err, app.ErrBotToken):
			a.e.say("The token could not be tested: %s.", plainly(err))
			return token
		}
		a.e.say("Telegram knows no bot with this token. Copy it whole from @BotFather: digits, a colon, letters and digits.")
	}
	if a.err == nil {
		a.err = &usageError{"there is no token that Telegram knows; nothing was written"}
	}
	return ""
}
