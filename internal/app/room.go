package app

import (
	"log/slog"

	"dragoman/agent"
	"dragoman/sessions"
)

// crampedShare: if instructions and tools use more than one part in crampedShare of
// the model's window, the log warns that little room is left for conversations.
const crampedShare = 2

// tellRoom warns if the instructions and tools, which are part of every request,
// fill most of the model's window or all of it.
func (d *Daemon) tellRoom(ag *agent.Agent) {
	if names := ag.LeftOut(); len(names) > 0 && !agent.AbilitiesOf(d.models.Main).NoTools {
		d.log.Warn("the model's window has no room for all tools, some are left out: allow fewer agent.tools, or correct model.context_window",
			slog.Any("tools", names))
	}
	tokens, window := ag.Fill(sessions.History{})
	if tokens < window/crampedShare {
		return
	}
	words := "the instructions and tools leave little room in the model's window: shorten agent.system_prompt, allow fewer agent.tools, or correct model.context_window"
	if tokens >= window {
		words = "the instructions and tools do not fit the model's window, so no message can be answered: shorten agent.system_prompt, allow fewer agent.tools, or correct model.context_window"
	}
	d.log.Warn(words, slog.Int("tokens", tokens), slog.Int("context_window", window))
}
