package console_test

import "testing"

// An apology looks like an error, and one click asks again.
func TestFailedAnswer(t *testing.T) {
	asked := 0
	g := newGateway(t, "", func(text string) string {
		asked++
		if asked == 1 {
			return "Sorry, I could not reach the model (error 0a1b2c)."
		}
		return "It is noon."
	})
	v := visit(t, chrome(t), 360, 720, true, "http://"+g.addr+"/old")
	v.until(connected)
	v.do(click("#text"))
	v.keys("What time is it?\r")
	v.until(`document.querySelector(".dragoman.failed .retry")`)
	v.holds("a failed answer")
	v.do(click(".retry"))
	v.until(`document.querySelector("#messages").innerText.includes("It is noon.")`)
	if n := js[int](v, `document.querySelectorAll(".retry").length`); n != 0 {
		t.Errorf("%d buttons ask again, want none after the answer", n)
	}
	v.do(reload)
	v.until(connected + ` && document.querySelector(".dragoman.failed")`)
}

// An invalid room name is reported, and the page stops trying.
func TestNoSuchRoom(t *testing.T) {
	g := newGateway(t, "", func(string) string { return "" })
	v := visit(t, chrome(t), 360, 720, true, "http://"+g.addr+"/old?room=Work")
	v.until(`document.querySelector("#empty").innerText.includes("no such room") && document.querySelector("#composer").hidden`)
	v.holds("no such room")
}
