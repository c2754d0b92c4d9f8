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

// A url that sends conversations to another machine in the clear gets a warning.
func TestPostgresInClear(t *testing.T) {
	for url, warns := range map[string]bool{
		"postgres://u@127.0.0.1:5432/d?sslmode=disable":         false,
		"postgres://u@localhost/d":                              false,
		"postgres://u@[::1]/d":                                  false,
		"postgres:///d?host=/run/postgresql":                    false,
		"postgres://u@db.example.org/d?sslmode=verify-full":     false,
		"postgres://u@db1,db2/d?sslmode=require":                false,
		"postgres://u@db.example.org/d":                         true,
		"postgres://u@db.example.org:5432/d?sslmode=disable":    true,
		"postgres://u@127.0.0.1,10.0.0.2:5432/d?sslmode=prefer": true,
	} {
		c, err := load(t, "store: {type: postgres, url: '${URL}'}", "URL="+url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		warned := false
		for _, w := range c.Warnings() {
			warned = warned || w.Path == "store.url"
		}
		if warned != warns {
			t.Errorf("%s: warned %t, want %t", url, warned, warns)
		}
	}
}
