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
	}
}
