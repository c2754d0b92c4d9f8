package app

import (
	"testing"
	"time"
)

func TestZoneName(t *testing.T) {
	for _, c := range []struct {
		tz   string
		set  bool
		link string
		want string
	}{
		{"", false, "/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"},
		{"", false, "../usr/share/zoneinfo/America/Argentina/Salta", "America/Argentina/Salta"},
		{"", false, "", "unknown"},
		{"", true, "/usr/share/zoneinfo/Europe/Berlin", "UTC"},
		{"Asia/Tokyo", true, "/usr/share/zoneinfo/Europe/Berlin", "Asia/Tokyo"},
		{":Asia/Tokyo", true, "", "Asia/Tokyo"},
		{":/usr/share/zoneinfo/Asia/Tokyo", true, "", "Asia/Tokyo"},
	} {
		if got := zoneName(c.tz, c.set, c.link); got != c.want {
			t.Errorf("zoneName(%q, %v, %q) = %q, want %q", c.tz, c.set, c.link, got, c.want)
		}
	}
}

// A zone that is not the machine's keeps its name, and no name changes the time.
func TestNamedZone(t *testing.T) {
	east := time.FixedZone("far east", 9*3600)
	if got := namedZone(east); got != east {
		t.Errorf("namedZone = %v, want %v", got, east)
	}
	if got := namedZone(time.Local); !sameTime(got, time.Local) {
		t.Errorf("namedZone = %v, which has another time", got)
	}
	t.Setenv("TZ", "Nowhere/At_All")
	if got := namedZone(time.Local); got != time.Local {
		t.Errorf("namedZone = %v, want Local", got)
	}
}
