package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dragoman/channels"
)

// channels checks what all channels have in common, and asks each for the rest.
func (v *validator) channels() {
	seen := map[string]string{} // which channel has what no other of its type may have
	for _, name := range sortedKeys(v.c.Channels) {
		path, ch := "channels."+name, v.c.Channels[name]
		v.access(path, ch)
		v.chats(path+".prompts", ch, ch.Prompts)
		v.chats(path+".models", ch, ch.Models)
		ch.Settings.Check(report{v, path, ch.Enabled})
		if !ch.Enabled {
			continue
		}
		if called, ok := ch.Settings.(channels.CalledBack); ok && called.CallsAt() != "" && v.c.HTTP.Listen == "off" {
			v.bad(path, "is called by its network at http.listen, which is off", "write an address there, like 127.0.0.1:8787")
		}
		id, what := "the only one", "there is one channel of this type already: %s"
		if d, ok := ch.Settings.(channels.Distinct); ok {
			id, what = d.Distinct()
		}
		if id == "" {
			continue
		}
		id = ch.Type + " " + id
		if first, taken := seen[id]; taken {
			v.bad(path, fmt.Sprintf(what, first), "remove one, or turn it off with enabled: false")
		} else {
			seen[id] = name
		}
	}
}

// report takes what the settings of one channel report.
type report struct {
	v       *validator
	path    string
	enabled bool
}

// at is the path of a channel's setting; "" is the channel.
func (r report) at(key string) string {
	if key == "" {
		return r.path
	}
	return join(r.path, key)
}

// Enabled is for [channels.Report].
func (r report) Enabled() bool { return r.enabled }

// Written is for [channels.Report].
func (r report) Written(key string) bool { return r.v.written(r.at(key)) }

// Bad is for [channels.Report].
func (r report) Bad(key, what, want string) { r.v.bad(r.at(key), what, want) }

// Warn is for [channels.Report].
func (r report) Warn(key, what, want string) { r.v.warn(r.at(key), what, want) }

// access checks who may talk. Only ids for which the network vouches are allowed:
// any other entry would look like protection and be none.
func (v *validator) access(path string, ch Channel) {
	if folder, ok := ch.Settings.(channels.Folder); ok {
		for i, entry := range ch.Allow {
			ch.Allow[i] = folder.Fold(entry)
		}
	}
	everybody, local := slices.Contains(ch.Allow, "*"), ch.Local()
	v.identities(path+".allow", ch)
	switch {
	case everybody && len(ch.Allow) > 1:
		v.bad(path+".allow", `"*" lets everybody in, so the other entries have no effect`, `keep either "*" or the others`)
	case everybody && ch.Pairing && !local:
		v.bad(path+".pairing", `allow has "*", so nobody would ever be asked for a code`, `remove "*", or pairing`)
	case everybody && ch.Enabled && !local:
		v.warn(path+".allow", `everybody on the network may talk and spend your model ("*")`, "list people instead")
	case len(ch.Allow) == 0 && !ch.Pairing && ch.Enabled:
		v.warn(path+".allow", "nobody may talk", "add people to allow, or set pairing: true")
	case ch.Pairing && local:
		v.bad(path+".pairing", "nobody can be paired on a channel of type "+ch.Type, "remove the line")
	}
}

// noIdentity is what is wrong with an entry that fits none of its type's forms.
var noIdentity = channels.Identity{
	What: "is not an entry for this type of channel", Want: `write "*" (everybody who can reach it may talk) or [] (nobody)`,
}

// identities reports entries of the allow list at path for which the network does not
// vouch.
func (v *validator) identities(path string, ch Channel) {
	named := func(entry string) bool { return entry != "*" }
	if !slices.ContainsFunc(ch.Allow, named) {
		return
	}
	formOf := formsOf(ch.Settings)
	for i, entry := range ch.Allow {
		found := formOf(entry)
		if found.What == "" || !named(entry) {
			continue
		}
		at, shown := fmt.Sprintf("%s[%d]", path, i), entry
		if v.marks[at].expanded {
			shown = "…"
		}
		v.bad(at, v.show(at, entry)+" "+found.What, strings.Replace(found.Want, "%s", shown, 1))
	}
}

// formsOf returns a function that finds the form that an entry has, noIdentity if none.
func formsOf(s channels.Settings) func(entry string) channels.Identity {
	known := s.Identities()
	forms := make([]*regexp.Regexp, len(known))
	for i, e := range known {
		forms[i] = regexp.MustCompile(e.Form)
	}
	return func(entry string) channels.Identity {
		n := slices.IndexFunc(forms, func(form *regexp.Regexp) bool { return form.MatchString(entry) })
		if n < 0 {
			return noIdentity
		}
		return known[n]
	}
}

// WrongIdentity says why nobody on the channel of that name can have an id, and "" if
// somebody can. A channel that is not configured is taken for the type of that name.
func (c *Config) WrongIdentity(types []channels.Type, name, id string) string {
	settings := c.Channels[name].Settings
	if settings == nil {
		i := slices.IndexFunc(types, func(t channels.Type) bool { return t.Name == name })
		if i < 0 {
			return fmt.Sprintf("there is no channel %s", name)
		}
		settings = types[i].Settings()
	}
	if id == "*" || strings.HasPrefix(id, "chat:") {
		return "that stands for several people"
	}
	if found := formsOf(settings)(id); found.What != "" {
		return "its id " + strings.Replace(found.What, "%s", id, 1)
	}
	if folder, ok := settings.(channels.Folder); ok && folder.Fold(id) != id {
		return "the network says " + folder.Fold(id)
	}
	return ""
}

// hasChat reports whether a key of prompts or models can be a chat of the channel.
func (ch Channel) hasChat(pattern string) bool {
	knower, ok := ch.Settings.(channels.ChatKnower)
	return !ok || knower.IsChat(pattern)
}

// chats checks the prompts, or the models, for single chats of a channel.
func (v *validator) chats(path string, ch Channel, all Prompts) {
	models, value := strings.HasSuffix(path, ".models"), "a prompt"
	if models {
		value = "the model's name as its server knows it"
	}
	for _, chat := range sortedKeys(all) {
		at, kind := promptPath(path, chat), chat == promptPrivate || chat == promptGroup
		switch name, prefixed := strings.CutPrefix(chat, "chat:"); {
		case prefixed:
			v.bad(at, "has chat: in front of the chat's id", fmt.Sprintf("write %q", name))
		case models && kind:
			v.bad(at, "is not a chat", `write a chat's id like "#go", or a pattern: "#*" or "-*" is every group on IRC or Telegram`)
		case !chatForm.Matches(chat), !kind && !ch.hasChat(chat):
			v.bad(at, "is not a chat of "+ch.Settings.Network(), `write private, group, or a chat's id like "#go" or "-1001234567890", which may have a *`)
		case strings.TrimSpace(all[chat]) == "":
			v.bad(at, "is empty", "write "+value+", or remove the line")
		}
	}
}
