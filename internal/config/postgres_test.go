package config_test

import (
	"strings"
	"testing"
)

func TestPostgres(t *testing.T) {
	for text, want := range map[string]string{
		"store: {type: postgres}":                                   "1 store.url: is empty, but postgres needs it",
		"store: {type: postgres, url: 'mysql://u:hidden@h/d'}":      "1 store.url: does not begin with postgres://",
		"store: {max_conns: 4}":                                     "1 store.max_conns: 4 is out of range; write 5 to 10000",
		"store: {type: postgres, url: 'postgres://u:hidden@h:1/d'}": "",
		"roles: [turns]":                                            "1 roles: a store of type sqlite has one daemon",
		"roles: []":                                                 "1 roles: is empty",
		"roles: [turns, channels, jobs]":                            "",
		"roles: [turns, cooking, channels]":                         "1 roles[1]:",
		"{roles: [jobs], store: {type: postgres, url: 'postgres://u:hidden@h:1/d'}}": "",
		"store: {type: sqlite, url: 'postgres://u:hidden@h:1/d'}":                    "",
	} {
		c, err := load(t, text)
		if err == nil {
			if want != "" || strings.Contains(c.Store.URL.String(), "hidden") {
				t.Errorf("%s: no problem, want %q; the url is shown as %s", text, want, c.Store.URL)
			}
			continue
		}
		got := strings.Join(problems(t, err), "\n")
		if want == "" || !strings.HasPrefix(got, want) || strings.Contains(got, "hidden") {
			t.Errorf("%s: problems %q, want %q", text, got, want)
		}
	}
}
