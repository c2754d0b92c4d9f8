package app

import (
	"cmp"
	"os"
	"strings"
	"time"
)

// namedZone is zone, under its name if it is the machine's, which Go calls Local.
func namedZone(zone *time.Location) *time.Location {
	if zone != time.Local {
		return zone
	}
	name, set := os.LookupEnv("TZ")
	link, _ := os.Readlink("/etc/localtime") // "" if it is no link: then nobody knows its name
	named, err := time.LoadLocation(zoneName(name, set, link))
	if err != nil || !sameTime(named, zone) {
		return zone
	}
	return named
}

// zoneName is the name of the machine's time zone: by the variable TZ, if that is set, or by
// where /etc/localtime leads. If neither tells, it is that of none.
func zoneName(tz string, set bool, link string) string {
	name := link
	if set {
		name = cmp.Or(strings.TrimPrefix(tz, ":"), "UTC")
	}
	_, inside, found := strings.Cut(name, "zoneinfo/")
	if found {
		name = inside
	}
	return cmp.Or(name, "unknown")
}

// sameTime reports whether both zones have the same offset, now and in half a year.
func sameTime(a, b *time.Location) bool {
	for _, t := range []time.Time{time.Now(), time.Now().AddDate(0, 6, 0)} {
		_, one := t.In(a).Zone()
		_, other := t.In(b).Zone()
		if one != other {
			return false
		}
	}
	return true
}
