package tools

import (
	"context"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // A minimal Debian has no zone files.

	"dragoman/agent"
	"dragoman/sessions"
)

// clockArgs are the arguments of time.
type clockArgs struct {
	Zone string `json:"zone,omitempty" jsonschema:"IANA time zone like Europe/Rome; default: the configured zone"`
}

var _ = builtin(func(n Needs) agent.Tool { return Clock(n.Zone, n.Now) })

// Clock is the tool time: the date, time and weekday, in zone unless the model names
// another.
func Clock(zone *time.Location, now func() time.Time) agent.Tool {
	return newReader(agent.Spec{
		Name:        "time",
		Description: "Tell the current date, time and weekday.",
		Keep:        50,
		Origin:      sessions.OriginModel,
	}, func(_ context.Context, _ agent.Call, args clockArgs) (string, error) {
		where := zone
		if args.Zone != "" {
			name, err := strings.TrimSpace(args.Zone), error(nil)
			// The machine's zone ("Local") is refused: it concerns only the operator.
			if where, err = time.LoadLocation(name); err != nil || name == "Local" || name == "" {
				return "", fmt.Errorf("there is no time zone %.60q; use an IANA name like Europe/Rome or UTC", name)
			}
		}
		t := now().In(where)
		year, week := t.ISOWeek()
		return fmt.Sprintf("%s, %s (%s), ISO week %d-W%02d, Unix time %d",
			t.Format("Monday"), t.Format("2006-01-02 15:04:05"), describeZone(t), year, week, t.Unix()), nil
	})
}

// describeZone returns the zone's name, if it has a useful one, and its distance from
// UTC. The machine's zone is called Local, which says nothing; its short name is used
// instead.
func describeZone(t time.Time) string {
	name := t.Location().String()
	short, offset := t.Zone()
	if name == "Local" || name == "" {
		name = short
	}
	switch {
	case name == "UTC" && offset == 0:
		return "UTC"
	case strings.Trim(name, "+-0123456789") == "": // a zone without a name
		return "UTC" + t.Format("-07:00")
	}
	return name + ", UTC" + t.Format("-07:00")
}
