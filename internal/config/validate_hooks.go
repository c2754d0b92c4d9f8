package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hooks checks the programs and addresses that receive events.
func (v *validator) hooks() {
	names := map[string]bool{}
	for i := range v.c.Hooks {
		path := fmt.Sprintf("hooks[%d]", i)
		h := &v.c.Hooks[i]
		v.hook(path, h)
		if h.Name != "" && names[h.Name] {
			v.bad(path+".name", v.show(path+".name", h.Name)+" is the name of two hooks", "give each its own")
		}
		names[h.Name] = true
	}
}

func (v *validator) hook(path string, h *Hook) {
	if len(h.On) == 0 {
		v.bad(path+".on", "lists no event", "write one or more of "+strings.Join(lists["events"](), ", "))
	}
	switch {
	case (len(h.Command) > 0) == (h.URL != ""):
		v.bad(path, "a hook needs either a command or a url", "write one of them, like command: [/usr/local/bin/note]")
		return
	case h.URL != "":
		v.postedHook(path, h)
		return
	case h.Secret.IsSet():
		v.bad(path+".secret", "a command does not use a secret", "remove it, or write a url")
	case h.SigningSecret.IsSet() || h.OldSigningSecret.IsSet():
		v.bad(path+".signing_secret", "nothing is signed for a command", "remove it, or write a url")
	case h.Name != "":
		v.bad(path+".name", "a command needs no name", "remove it, or write a url")
	}
	v.openSecret(path+".command", h.Command, "let the program read it from a file")
	program := h.Command[0]
	info, err := os.Stat(program)
	switch {
	case !filepath.IsAbs(program):
		v.bad(path+".command", v.show(path+".command[0]", program)+" is not an absolute path", "begin with /; no shell looks for it in PATH")
	case err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		v.warn(path+".command", v.show(path+".command[0]", program)+" is not a program that can be started", "")
	}
}

// postedHook checks a hook with a URL.
func (v *validator) postedHook(path string, h *Hook) {
	switch {
	case h.OldSigningSecret.IsSet() && !h.SigningSecret.IsSet():
		v.bad(path+".old_signing_secret", "there is no signing_secret beside it", "write the new one there")
	case !h.SigningSecret.IsSet() && !h.Secret.IsSet():
		v.warn(path, "what is posted there is not signed, so whoever finds the address can send the same", "write a signing_secret: echo whsec_$(openssl rand -base64 32)")
	case !h.SigningSecret.IsSet():
		v.warn(path, "what is posted there is not signed: the secret says who sends it, but not that nobody changed or repeated it", "write a signing_secret: echo whsec_$(openssl rand -base64 32)")
	}
}
