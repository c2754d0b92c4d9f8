package story_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/chromedp"
)

// named is what a browser tells assistive technology of one element.
type named struct {
	name string
	node cdp.BackendNodeID
}

// all are the elements with a role that can be seen, in the order of the page; none while
// a page is left.
func (w *walker) all(role string) []named {
	w.t.Helper()
	document, err := attempt(w, dom.GetDocument, dom.GetDocumentParams{})
	if err != nil {
		return nil // it is being replaced by the next one
	}
	tree, err := attempt(w, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{NodeID: document.Root.NodeID, Role: role})
	if err != nil {
		return nil
	}
	var found []named
	for _, n := range tree.Nodes {
		if n.Ignored || n.BackendDOMNodeID == 0 {
			continue
		}
		var name string
		if n.Name != nil {
			_ = json.Unmarshal(n.Name.Value, &name) // a name is a string
		}
		found = append(found, named{name, n.BackendDOMNodeID})
	}
	return found
}

// find waits for an element by its role and name: the whole name, or its beginning if name
// ends with "…".
func (w *walker) find(role, name string) named {
	w.t.Helper()
	var found named
	w.poll(fmt.Sprintf("a %s with the name %q", role, name), func() bool {
		list := w.all(role)
		beginning, open := strings.CutSuffix(name, "…")
		i := slices.IndexFunc(list, func(n named) bool { return n.name == name || open && strings.HasPrefix(n.name, beginning) })
		if i >= 0 {
			found = list[i]
		}
		return i >= 0
	})
	return found
}

// click clicks an element with the mouse, in its middle, once it is at rest: nobody hits what
// is on its way, as when a conversation follows an answer that grows, or is drawn anew.
func (w *walker) click(role, name string) {
	w.t.Helper()
	var x, y float64
	w.poll(fmt.Sprintf("the %s %q to be at rest", role, name), func() bool {
		wasX, wasY := x, y
		x, y = w.middle(w.find(role, name).node)
		return x >= 0 && x == wasX && y == wasY
	})
	w.do(chromedp.MouseClickXY(x, y))
}

// middle scrolls to an element and returns where its middle is: -1 if it is gone, or takes
// no room.
func (w *walker) middle(node cdp.BackendNodeID) (x, y float64) {
	w.t.Helper()
	_, err := attempt(w, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: node})
	if err != nil {
		return -1, -1
	}
	where, err := attempt(w, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: node})
	if err != nil || len(where.Quads) == 0 || len(where.Quads[0]) != 8 {
		return -1, -1
	}
	q := where.Quads[0]
	return (q[0] + q[2] + q[4] + q[6]) / 4, (q[1] + q[3] + q[5] + q[7]) / 4
}

// letter presses a letter outside of all fields, once there is what it presses: many buttons
// are not there before an answer is over.
func (w *walker) letter(key string) {
	w.t.Helper()
	w.until("what "+key+" presses", `document.querySelector("[data-key='`+key+`']")`)
	asks[bool](w, `(document.activeElement.blur(), true)`)
	w.press(key)
}

// types writes into a field that is found by its name.
func (w *walker) types(field, text string) {
	w.t.Helper()
	w.typesInto("textbox", field, text)
}

// typesInto is types for a field with another role, like searchbox.
func (w *walker) typesInto(role, field, text string) {
	w.t.Helper()
	w.poll(fmt.Sprintf("the %s %q to take the focus", role, field), func() bool {
		_, err := attempt(w, dom.Focus, dom.FocusParams{BackendNodeID: w.find(role, field).node})
		return err == nil
	})
	w.press(text)
}
