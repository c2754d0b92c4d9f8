package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/heartbeat"
)

func (v *validator) heartbeat(h *Heartbeat) {
	if job, wanted := h.FileJob(); wanted {
		v.job("heartbeat", job)
	}
	for i := range h.Jobs {
		job, path := &h.Jobs[i], fmt.Sprintf("heartbeat.jobs[%d]", i)
		job.TimeZone = cmp.Or(job.TimeZone, h.TimeZone)
		if job.Name == FileJobName {
			v.bad(path+".name", FileJobName+" is the name of the job that runs HEARTBEAT.md", "give it another name")
		} else {
			v.job(path, *job)
		}
	}
}

// job reports the mistakes that package heartbeat finds. Values that were reported
// already are replaced by valid ones first.
func (v *validator) job(path string, job Job) {
	v.target(path+".target", job.Target)
	s := job.Scheduled()
	s.Target, s.CatchUp = channels.MustKey("any:chat"), ""
	if s.Every != 0 {
		s.Every = time.Minute
	}
	if !isZone(s.TimeZone) {
		s.TimeZone = ""
	}
	err := heartbeat.Validate(s)
	if err == nil {
		if v.marks[path+".cron"].expanded {
			return // a note would show it
		}
		for _, note := range heartbeat.Notes(s) {
			v.warn(path+".cron", note, "")
		}
		return
	}
	for what := range strings.SplitSeq(err.Error(), "\n") {
		if v.marks[path+".name"].expanded || v.marks[path+".cron"].expanded || v.marks[path+".active_hours"].expanded {
			what = "its name, cron or active_hours (from a variable or a file) cannot be understood"
		}
		v.bad(path, what, "")
	}
}

func (v *validator) target(path, target string) {
	key, err := channels.ParseKey(target)
	if err != nil {
		v.bad(path, v.show(path, target)+" is not a conversation", "write channel:chat, like telegram:123456789")
		return
	}
	ch, known := v.c.Channels[key.Channel()]
	switch {
	case !known && v.written("channels."+key.Channel()):
		// The channel itself has a problem, which is reported already.
	case !known:
		v.bad(path, "there is no channel "+strings.TrimPrefix(v.show(path, key.Channel()), "this"), "configured: "+strings.Join(sortedKeys(v.c.Channels), ", "))
	case !ch.Enabled:
		v.bad(path, "its channel is turned off (enabled: false)", "turn it on, or name another conversation")
	default:
		v.room(path, key)
	}
}

// room reports a key of the page or the terminal that can be no room: nobody would read what
// is said there.
func (v *validator) room(path string, key channels.Key) {
	name := key.Chat()[strings.LastIndexByte(key.Chat(), '/')+1:] // the room may be somebody's
	if v.c.Channels[key.Channel()].Local() && !channels.IsRoom(name) {
		v.bad(path, v.show(path, key.String())+" can be no room", "write a name of a-z, 0-9, _ and -, like "+key.Channel()+":kitchen")
	}
}
