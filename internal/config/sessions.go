package config

import "time"

// Sessions says how long conversations last.
type Sessions struct {
	RetentionDays int   `yaml:"retention_days" range:"0..36500" doc:"Delete a conversation this many days after its last message; 0: never. A conversation with unanswered messages or undelivered replies is kept."`
	Reset         Reset `yaml:"reset"`
}

// Reset is when a conversation begins anew by itself.
type Reset struct {
	Mode     string   `yaml:"mode" default:"never" oneof:"never daily idle" doc:"When a conversation starts again by itself, as with /new: never, daily (see at) or idle (see after)."`
	At       string   `yaml:"at" default:"04:00" is:"clock" doc:"For daily: the first message after this time of day starts again."`
	TimeZone string   `yaml:"time_zone,omitempty" is:"zone" doc:"Time zone of at. Empty: agent.time_zone."`
	After    Duration `yaml:"after" default:"8h" range:"1m..8784h" doc:"For idle: the first message after this long a silence starts again."`
}

// The values of Reset.Mode.
const (
	ResetNever = "never"
	ResetDaily = "daily"
	ResetIdle  = "idle"
)

// AtTime is At since midnight.
func (r Reset) AtTime() time.Duration {
	at, _ := clockTime(r.At)
	return at
}

// Hook tells a program of the operator's what happens.
type Hook struct {
	On      []string `yaml:"on,flow,omitempty" oneof:"events" doc:"The events it receives: session_create, session_save, session_delete, context_compacted, turn_done, delivery_dead, channel_failed, channel_back, model_down, model_back, disk_full."`
	Command []string `yaml:"command,flow,omitempty" repeat:"ok" doc:"A program and its arguments, started without a shell. It receives the event as JSON on standard input. Set either command or url."`
	URL     string   `yaml:"url,omitempty" is:"private url" doc:"The URL that receives the event as a JSON POST: https, or http on this machine."`
	Secret  Secret   `yaml:"secret,omitempty" empty:"ok" doc:"Sent with the post, as Authorization: Bearer."`
	Timeout Duration `yaml:"timeout,omitempty" default:"10s" range:"100ms..10m" doc:"Maximum duration, after which the program is killed or the connection closed."`
}

// Alerts says who is told that something does not work.
type Alerts struct {
	To    string   `yaml:"to,omitempty" doc:"The conversation that is told once when a channel, the model or the disk fails, and once when it works again. Empty: none."`
	After Duration `yaml:"after" default:"5m" range:"1s..24h" doc:"How long something must fail before the alert is sent and the hooks receive channel_failed, model_down or disk_full."`
}
