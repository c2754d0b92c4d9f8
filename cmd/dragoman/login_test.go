package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"rsc.io/qr"
)

func TestLogin(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"Linked devices", "█", "whatsapp is linked to +15550000001."}, "login")
	w.want([]string{"type: ABCD-EFGH", "linked to +491701234567."}, "login", "whatsapp", "--code", "+49 170 1234567")
	if code, _, errs := w.run("login", "--code", "0170 1234567"); code != exitUsage || !strings.Contains(errs, "must be complete") {
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
	w.want([]string{"whatsapp is no longer linked to a phone", "dragoman login whatsapp"}, "logout", "whatsapp")
	if _, out, _ := w.run("logout", "whatsapp"); strings.Contains(out, "remove it on the phone") {
		t.Errorf("logout that WhatsApp knows of says %q", out)
	}
	w.want([]string{"far is no longer linked to a phone", "remove the device on the phone too"}, "logout", "far")
}

// A code takes the place of the one before it. A window that is too small for
// it is told so first, with what to do, and only as long as that is so.
func TestLoginInSmallWindow(t *testing.T) {
	const (
		guide = "On the phone: "
		small = "This window is too small for the QR code: it has %d columns and %d rows, and 33 and 19 are needed."
		clear = "\x1b[H\x1b[J"
		place = "\x1b[18A\x1b[J"
	)
	for name, test := range map[string]struct {
		sizes [][2]int
		want  []string // in this order, each once; "code" is the code
	}{
		"no terminal":    {nil, []string{guide, "code", place, "code"}},
		"it just fits":   {[][2]int{{33, 19}}, []string{guide, "code", place, "code"}},
		"too low":        {[][2]int{{80, 18}}, []string{guide, fmt.Sprintf(small, 80, 18), "login whatsapp --code +PHONE", "code", clear, guide, fmt.Sprintf(small, 80, 18), "code"}},
		"too narrow":     {[][2]int{{32, 90}}, []string{guide, fmt.Sprintf(small, 32, 90), "code", clear, guide, fmt.Sprintf(small, 32, 90), "code"}},
		"it is enlarged": {[][2]int{{80, 18}, {80, 40}}, []string{guide, fmt.Sprintf(small, 80, 18), "code", clear, guide, "code"}},
		"made smaller":   {[][2]int{{80, 40}, {80, 10}}, []string{guide, "code", clear, guide, fmt.Sprintf(small, 80, 10), "code"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.sizes = test.sizes
			_, out, _ := w.run("login")
			for _, text := range []string{guide, clear, place, "too small"} {
				want := 0
				for _, part := range test.want {
					want += strings.Count(part, text)
				}
				if n := strings.Count(out, text); n != want {
					t.Errorf("it says %q %d times, want %d", text, n, want)
				}
			}
			if n := strings.Count(out, "If you see only part of it"); n != strings.Count(out, "too small") {
				t.Errorf("what to do stands %d times below a code", n)
			}
			rest := out
			for _, part := range test.want {
				if part == "code" {
					part = blackOnWhite
				}
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Fatalf("it does not say %q where it should:\n%q", part, out)
				}
				if part == blackOnWhite {
					_, after, _ = strings.Cut(after, "Scan this code.")
				}
				rest = after
			}
		})
	}
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
