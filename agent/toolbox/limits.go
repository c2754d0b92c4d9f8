package toolbox

import (
	"strings"

	"dragoman/agent"
)

// ability is something that people expect of an assistant and that only a tool gives.
type ability struct {
	// what follows "you cannot".
	what string
	// words: a tool whose name or description has one of them gives the ability. That holds
	// for the tools of servers, too, which nobody here knows.
	words []string
	// looks: a tool that only reads can give it.
	looks bool
}

// abilities are in the order in which people ask for them.
var abilities = []ability{
	{"remind anybody of something or act later", []string{"remind", "schedule", "alarm", "timer"}, false},
	{"write to other people or chats", []string{"send a message", "mail", "notify"}, false},
	{"search the web", []string{"search the web", "web search"}, true},
	{"open web pages", []string{"web page", "browse"}, true},
	{"keep files", []string{"write a text file", "write a file"}, false},
	{"remember anything beyond this conversation", []string{"remember", "beyond this conversation", "memory"}, false},
	{"run programs", []string{"shell", "run a command", "execute a command", "run code", "execute code"}, false},
	{"make pictures", []string{"image", "picture", "draw"}, false},
}

// Cannot is a sentence for the system prompt that says what the model cannot do with
// tools, so that it promises nothing that nobody keeps. It shrinks as tools come, and is
// "" if they leave nothing out.
func Cannot(tools []agent.Spec) string {
	var missing []string
	for _, a := range abilities {
		if !a.given(tools) {
			missing = append(missing, a.what)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	last := len(missing) - 1
	list := missing[last]
	if last > 0 {
		list = strings.Join(missing[:last], ", ") + " or " + list
	}
	return "You cannot " + list + ": when you are asked to, say so, and never promise it."
}

// given reports whether one of tools gives the ability.
func (a ability) given(tools []agent.Spec) bool {
	for _, t := range tools {
		if t.Corrects || t.Effect == agent.EffectRead && !a.looks {
			continue
		}
		about := strings.ToLower(t.Name + "\n" + t.Description)
		for _, word := range a.words {
			if strings.Contains(about, word) {
				return true
			}
		}
	}
	return false
}
