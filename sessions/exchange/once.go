package exchange

import (
	"fmt"
	"strings"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// A name that stands twice in an object is refused wherever the object is taken
// apart: one of the two values would be lost, and nobody can tell which was
// meant. What is kept as it is, an object of others, may hold what it likes.

var (
	// anyShape is of an object with any names, each of which holds anything.
	anyShape = rules.ShapeOf[struct{}]()
	// entryShape is of what a message has in objects of its own.
	entryShape = rules.ShapeOf[struct {
		Usage       sessions.Usage    `json:"usage"`
		Attached    sessions.Attached `json:"attached"`
		Attachments []struct{}        `json:"attachments"`
		Parts       []struct{}        `json:"content"` // or one text
		Calls       []wireCall        `json:"tool_calls"`
		Call        wireCall          `json:"function_call"`
	}]()
)

func onlyOnce(shape *rules.Shape, raw []byte) error {
	if place, twice := shape.Twice(raw); twice {
		return twiceError(place)
	}
	return nil
}

func twiceError(place string) error {
	return fmt.Errorf("%w: its %q stands there twice", ErrFormat, shortPlace(place))
}

// onlyOnce is the same for one field of a set.
func (f fieldSet) onlyOnce(name string, shape *rules.Shape) error {
	if place, twice := shape.Twice(f[name]); twice {
		return twiceError(name + "/" + place)
	}
	return nil
}

// shortPlace is a place for an error: a name of others may be long.
func shortPlace(place string) string {
	const most = 80
	if len(place) <= most {
		return place
	}
	return strings.ToValidUTF8(place[:most], "") + "…"
}
