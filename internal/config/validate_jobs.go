package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/heartbeat"
)

func (v *validator) heartbeat(h *Heartbeat) {
	if job, wanted := h.FileJob(); wanted {
		v.schedule("heartbeat", job)
	}
	for i := range h.Jobs {
		job := &h.Jobs[i]
		job.TimeZone = cmp.Or(job.TimeZone, h.TimeZone)
		v.job(fmt.Sprintf("heartbeat.jobs[%d]", i), *job)
	}
}

func (v *validator) job(path string, job Job) {
	_, nameErr := channels.NewKey(heartbeatName, job.Name)
	switch {
	case nameErr != nil || utf8.RuneCountInString(job.Name) > 64 || strings.ContainsFunc(job.Name, unicode.IsSpace):
		v.bad(path+".name", "a job needs a name of 1 to 64 characters without spaces", "")
	case job.Name == FileJobName:
		v.bad(path+".name", FileJobName+" is the name of the job that runs HEARTBEAT.md", "give it another name")
	}
	if strings.TrimSpace(job.Prompt) == "" {
		v.bad(path+".prompt", "is empty", "write what the model should do")
	}
	if (job.Cron == "") == (job.Every == 0 && !v.written(path+".every")) {
		v.bad(path, "a job needs either every or cron", "write one of them, like every: 2h or cron: \"0 8 * * *\"")
		return
	}
	v.schedule(path, job)
}

// schedule checks what a job and HEARTBEAT.md share. Package heartbeat knows
// what is wrong with times, and gets right values for what was said already.
func (v *validator) schedule(path string, job Job) {
	v.target(path+".target", job.Target)
	only := job.Scheduled()
	only.Name, only.Target, only.Prompt, only.CatchUp = "any", channels.MustKey("any:chat"), "any", ""
	if only.Cron == "" {
		only.Every = time.Minute
	}
	if !isZone(only.TimeZone) {
		only.TimeZone = ""
	}
	err := heartbeat.Validate(only)
	if err == nil {
		return
	}
	for what := range strings.SplitSeq(err.Error(), "\n") {
		if v.marks[path+".cron"].expanded || v.marks[path+".active_hours"].expanded {
			what = "its cron or active_hours (from a variable or a file) cannot be understood"
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
		// The channel has a problem of its own, which is reported already.
	case !known:
		v.bad(path, "there is no channel "+strings.TrimPrefix(v.show(path, key.Channel()), "this"), "configured: "+strings.Join(sortedKeys(v.c.Channels), ", "))
	case !ch.Enabled:
		v.bad(path, "its channel is turned off (enabled: false)", "turn it on, or name another conversation")
	}
}
