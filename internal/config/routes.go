package config

import (
	"fmt"
	"strings"

	"dragoman/channels"
)

// Route is a way on which the model may send words from one chat to another.
type Route struct {
	From string `yaml:"from,omitempty" doc:"The chats from which it may be asked: a channel (telegram), a conversation (telegram:-100200), the beginning of one with a star (telegram:-100200:*), or a job (heartbeat:news)."`
	To   string `yaml:"to,omitempty" doc:"The chats that may be written to, in the same words. Who reads it is told who asked."`
	Name string `yaml:"name,omitempty" doc:"What people and the model call to, which is one conversation then: Ann. Unset: they write its key."`
}

// routes checks which chats may send words where.
func (v *validator) routes() {
	named := map[string]string{} // where a name leads
	for i, r := range v.c.Routes {
		path := fmt.Sprintf("routes[%d]", i)
		if job, is := strings.CutPrefix(r.From, heartbeatName+":"); is {
			v.routedJob(path+".from", job)
		} else {
			v.match(path+".from", r.From)
		}
		v.match(path+".to", r.To)
		if key := channels.Pattern(r.To).Key(); !key.IsZero() {
			v.room(path+".to", key)
		}
		if r.To != "" && r.From == r.To {
			v.bad(path+".to", "is the chat itself", "write another one")
		}
		if r.To != "" && channels.Pattern(r.To).Key().IsZero() && r.Name == "" {
			v.warn(path+".to", "lets the model write to every chat that this stands for, also to people who have not written yet", "name one conversation, like telegram:123456789, if that is enough")
		}
		if r.Name == "" {
			continue
		}
		name := strings.ToLower(r.Name)
		other, taken := named[name]
		named[name] = r.To
		_, isChannel := v.c.Channels[name]
		at := path + ".name"
		switch {
		case channels.Pattern(r.To).Key().IsZero():
			v.bad(at, "stands for several chats", "name one conversation under to, like telegram:123456789, or remove the name")
		case isChannel || strings.Contains(r.Name, ":"):
			v.bad(at, v.show(at, r.Name)+" names a channel or a conversation already", "give it another name")
		case strings.TrimSpace(r.Name) != r.Name || len(r.Name) > maxRouteName:
			v.bad(at, "has spaces around, or more than 40 bytes", "write a short name")
		case taken && other != r.To:
			v.bad(at, v.show(at, r.Name)+" leads to "+v.show(path+".to", other)+" in another route", "give one of them another name")
		}
	}
}

// maxRouteName bounds a name, which the model is told.
const maxRouteName = 40

// routedJob reports a job that is not configured.
func (v *validator) routedJob(path, name string) {
	var known []string
	for _, j := range v.c.Heartbeat.Jobs {
		if j.Name == name {
			return
		}
		known = append(known, j.Name)
	}
	if name != FileJobName && name != anyChat {
		v.bad(path, "there is no job "+v.show(path, name), "configured: "+strings.Join(append(known, FileJobName), ", "))
	}
}

// Routed says in lines which chats may send words where.
func (c *Config) Routed() (lines []string) {
	for _, r := range c.Routes {
		line := r.From + " to " + r.To
		if r.Name != "" {
			line += " (" + r.Name + ")"
		}
		lines = append(lines, line)
	}
	return lines
}
