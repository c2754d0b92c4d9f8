package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"dragoman/internal/config"
	"dragoman/internal/llm"
)

// mostListed is how many models a person is shown at once.
const mostListed = 30

// model writes the "model" section for the provider with that index.
func (a *asking) model(b *strings.Builder, which int) {
	p := providers[which]
	switch which {
	case askDemo:
		b.WriteString("model:\n  # Follows simple rules and needs no network. Take this out to connect a real one.\n  type: demo\n")
		return
	case askOllama:
		a.ollama(b, p)
		return
	case askOther:
		p.base = a.must("Its address, like http://127.0.0.1:8080/v1", "", "Dragoman needs the address of the server.")
	}
	if p.keys != "" {
		a.e.say("You can make a key at %s", p.keys)
	}
	question := "Key"
	if which == askOther {
		question = "Key (leave it empty if the server needs none)"
	}
	key, offered := a.key(p, question)
	b.WriteString("model:\n")
	if p.base != "" {
		fmt.Fprintf(b, "  base_url: %s\n", p.base)
	}
	if key != "" {
		fmt.Fprintf(b, "  api_key: \"${file:%s}\"\n", a.keep("model.key", key))
	}
	name := ""
	switch {
	case len(offered) > 0:
		name = a.pick(offered, p.model, p.base != "")
	case p.base != "":
		name = a.must("The model's name on that server", p.model, "This server needs a name. It lists its models at "+strings.TrimRight(p.base, "/")+"/models.")
	}
	if name == "" {
		b.WriteString("  # Dragoman chooses one of the server's models; dragoman models lists them.\n")
		return
	}
	fmt.Fprintf(b, "  name: %q\n", name)
}

// ollama is model for the Ollama on this machine.
func (a *asking) ollama(b *strings.Builder, p provider) {
	if os.Getenv("OLLAMA_HOST") == "" { // else Dragoman finds it there by itself
		if offered := a.offered(p.lists, ""); len(offered.Models) > 0 {
			if name := a.pick(namesOf(offered), "", false); name != "" {
				fmt.Fprintf(b, "model:\n  base_url: %s\n  name: %q\n", p.lists, name)
				return
			}
		}
	}
	b.WriteString("# The model is the first that the Ollama on this machine has and that can call\n# tools. To choose another: model: {name: qwen3}\n")
}

// key asks for the key of p, again if the server refuses it, and returns the models
// that the server lists with it. There are none if it cannot be asked.
func (a *asking) key(p provider, question string) (key string, offered []string) {
	base := p.base
	if base == "" {
		base = p.lists
	}
	for range 3 {
		key = a.secret(question)
		if a.err != nil || key == "" && p.keys != "" {
			return key, nil // without a key these servers list nothing
		}
		found := a.offered(base, key)
		if found.Trouble != "" {
			a.e.say("trouble: %s", oneLine(found.Trouble))
		}
		if !found.KeyRefused() {
			return key, namesOf(found)
		}
	}
	if a.err == nil {
		a.err = &usageError{"the server takes none of these keys; nothing was written"}
	}
	return "", nil
}

// offered asks the server at base for its models. What cannot be asked is tested again
// with the file that is written.
func (a *asking) offered(base, key string) llm.Report {
	// The defaults: no file is looked for.
	const nowhere = "/nowhere"
	cfg, _, err := a.e.daemon.load(config.Options{Dir: nowhere, Home: nowhere, System: nowhere, Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		return llm.Report{}
	}
	cfg.Model.Type = "openai"
	cfg.Model.BaseURL = base
	cfg.Model.APIKey = config.NewSecret(key)
	report, err := a.e.daemon.lookAtModel(a.e.ctx, cfg, os.Getenv, true)
	if err != nil {
		return llm.Report{}
	}
	if report.ModelMissing() { // there is no name yet
		report.Cause, report.Trouble = "", ""
	}
	return report
}

func namesOf(r llm.Report) []string {
	var names []string
	for _, m := range r.Models {
		names = append(names, m.Name)
	}
	return names
}

// pick lets a person choose one of the models by its number, by its name, or by a part
// of the name, which shows those that have it. A name that is not among them is taken
// when it is written twice. Unless needed, an empty answer is "".
func (a *asking) pick(all []string, usual string, needed bool) string {
	if !slices.Contains(all, usual) {
		usual = ""
	}
	if needed && len(all) == 1 {
		usual = all[0]
	}
	question := "Number or name"
	if usual == "" && !needed {
		question = "Number or name (empty: Dragoman chooses)"
	}
	a.e.say("It has these models:")
	shown := a.listed(all)
	unknown := ""
	for range 10 {
		text := a.line(question, usual)
		number, err := strconv.Atoi(text)
		switch {
		case a.err != nil, text == "" && !needed, slices.Contains(all, text), text != "" && text == unknown:
			return text
		case text == "":
			a.e.say("This server needs a name.")
		case err == nil && number >= 1 && number <= len(shown):
			return shown[number-1]
		default:
			unknown = text
			if some := having(all, text); len(some) > 0 {
				shown = a.listed(some)
				continue
			}
			a.e.say("The server does not list it. Write it once more to use it all the same.")
		}
	}
	a.err = &usageError{"no model was chosen; nothing was written"}
	return ""
}

// listed prints the first of names with numbers, and returns those that have one.
func (a *asking) listed(names []string) []string {
	shown := names[:min(len(names), mostListed)]
	for i, name := range shown {
		a.e.say("  %2d  %s", i+1, oneLine(name))
	}
	if more := len(names) - len(shown); more > 0 {
		a.e.say("  and %d more; a part of a name shows those that have it", more)
	}
	return shown
}

// having returns the names that have part in them, in any case.
func having(names []string, part string) (some []string) {
	for _, name := range names {
		if strings.Contains(strings.ToLower(name), strings.ToLower(part)) {
			some = append(some, name)
		}
	}
	return some
}
