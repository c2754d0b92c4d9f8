package main

import (
	"fmt"
	"os"
	"strconv"

	"dragoman/internal/config"
	"dragoman/internal/llm"
	"dragoman/internal/storage"
	"dragoman/sessions"
)

// modelsCmd is "dragoman models": what the configured model's server offers, and
// whether the model answers.
type modelsCmd struct {
	jsonFlag
}

// Run asks the model's server itself, without a daemon. It fails if the model
// cannot answer, so that scripts notice.
func (k *modelsCmd) Run(e *env, c *cli) error {
	cfg, err := e.load(c.Config)
	if err != nil {
		return err
	}
	m, err := e.daemon.lookAtModel(e.ctx, cfg, os.Getenv, true)
	if err != nil {
		return err
	}
	if k.JSON {
		err = e.json(m)
	} else {
		e.sayModels(m)
	}
	if err == nil && m.Cause != "" {
		err = errSaid
	}
	return err
}

func (e *env) sayModels(m llm.Report) {
	e.sayLook(m)
	if len(m.Models) > 0 {
		t := table{head: []string{"", "MODEL", "WINDOW", "TOOLS", "PICTURES", "IN", "OUT", "ENDS"}, right: []int{2, 5, 6}, less: []int{4, 3, 6, 5}}
		for _, l := range m.Models {
			mark, ends := "", l.Shutdown
			if l.Configured {
				mark = "*"
			}
			if l.EndsSoon {
				ends += " (soon)"
			}
			t.add(mark, l.Name, number(l.Window), l.Tools, l.Pictures, price(l.Prices.Input), price(l.Prices.Output), ends)
		}
		e.say("")
		t.print(e)
		e.say("")
		e.say("* answers here. IN and OUT are US dollars for a million tokens, where they are known.")
	}
	for i, l := range m.Learned {
		if i == 0 {
			e.say("\nLearnt from the server's refusals (forgotten when the model section changes):")
		}
		e.say("  %s: %s, %s: %s", oneLine(l.Model), oneLine(l.What), e.when(l.At), oneLine(l.Said))
	}
}

func (e *env) sayLook(m llm.Report) {
	e.say("%s", oneLine(m.Why))
	if m.Demo {
		return
	}
	if m.Abilities != "" {
		e.say("%s", oneLine(m.Abilities))
	}
	switch {
	case m.Trouble != "":
		e.say("trouble: %s", oneLine(m.Trouble))
	case m.Unsure:
		e.say("The server at %s answers. It lists no models, so the name and the key could not be tested.", oneLine(m.Host))
	default:
		e.say("The server at %s answers and has the model; Dragoman uses %s.", oneLine(m.Host), m.API)
	}
}

func (e *env) checkOnline(cfg *config.Config) error {
	// If that fails, the check of the store has said why.
	if warning, _ := storage.Exposed(e.ctx, cfg); warning != "" {
		e.say("warning: %s", sessions.Printable(warning))
	}
	m, err := e.daemon.lookAtModel(e.ctx, cfg, os.Getenv, false)
	if err != nil {
		return err
	}
	e.sayLook(m)
	if m.Cause != "" {
		return errSaid
	}
	return nil
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func price(p float64) string {
	if p == 0 {
		return ""
	}
	return fmt.Sprintf("%.4g", p)
}
