package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"rsc.io/qr"
)

func TestLogin(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"Linked devices", "█", "whatsapp is linked to +15550000001."}, "login")
	w.want([]string{"type: ABCD-EFGH", "linked to +491701234567."}, "login", "whatsapp", "--code", "+49 170 1234567")
	if code, _, errs := w.run("login", "--code", "0170 1234567"); code != exitUsage || !strings.Contains(errs, "full form") {
		t.Errorf("login with a short number = %d, %q", code, errs)
	}
	for _, verb := range []string{"login", "logout"} {
		code, out, errs := w.run(verb, "other")
		if code != exitFailed || errs != "dragoman: no such channel\n" || out != "" {
			t.Errorf("%s of another channel = %d, says %q and %q, want the error alone, without packages", verb, code, out, errs)
		}
	}
	if _, out, _ := w.run("login"); strings.Count(out, "On the phone: ") != 1 || !strings.HasPrefix(out, "On the phone: ") {
		t.Errorf("login says %q, want where to go on the phone first, and once", out)
	}
	w.want([]string{"whatsapp is not linked to a phone any more", "dragoman login whatsapp"}, "logout", "whatsapp")
	if _, out, _ := w.run("logout", "whatsapp"); strings.Contains(out, "remove it on the phone") {
		t.Errorf("logout that WhatsApp knows of says %q", out)
	}
	w.want([]string{"far is not linked to a phone any more", "remove it on the phone too"}, "logout", "far")
}

// What is drawn is the code itself, in both ways.
func TestDrawQR(t *testing.T) {
	const text = "https://wa.me/settings/linked_devices#2@abc,def"
	want, err := qr.Encode(text, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range []bool{false, true} {
		picture, err := drawQR(text, plain)
		if err != nil {
			t.Fatal(err)
		}
		got := pixels(bare(picture), plain)
		if diff := cmp.Diff(pixelsOf(want), got); diff != "" {
			t.Errorf("plain = %v: pixels (-want +got):\n%s", plain, diff)
		}
	}
	if _, err := drawQR(strings.Repeat("x", 4000), true); err == nil {
		t.Error("drawQR of a text that fits in no code = nil, want an error")
	}
}

// pixels reads a drawing: true is black. A row that only fills up the last
// line is left out.
func pixels(picture string, plain bool) [][]bool {
	var rows [][]bool
	for line := range strings.SplitSeq(strings.TrimSuffix(picture, "\n"), "\n") {
		var upper, lower []bool
		for _, r := range line {
			upper = append(upper, (r == '▀' || r == '█') != plain)
			lower = append(lower, (r == '▄' || r == '█') != plain)
		}
		rows = append(rows, upper, lower)
	}
	return rows[:len(rows[0])]
}

func pixelsOf(c *qr.Code) [][]bool {
	var rows [][]bool
	for y := -quiet; y < c.Size+quiet; y++ {
		var row []bool
		for x := -quiet; x < c.Size+quiet; x++ {
			row = append(row, c.Black(x, y))
		}
		rows = append(rows, row)
	}
	return rows
}
