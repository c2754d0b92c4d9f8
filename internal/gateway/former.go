package gateway

import (
	"strings"

	"dragoman/channels"
)

// Versions before labels told with prefixes what an id is for. A store may have such ids.
const (
	formerAsk     = "ask:"
	formerCompact = "compact:"
	formerTell    = "tell:"
	formerUnseen  = "unseen:"
	formerWaiting = "waiting:"
)

// sendCall asks the node that runs a channel to send a message. Nodes of versions before
// labels know the text with its marks, and no Marked.
type sendCall struct {
	channels.Outbound
	Marked bool
}

// callOf is the call for o.
func callOf(o channels.Outbound) sendCall {
	o.Text = channels.WithMarks(o.Text, "", o.Form)
	if o.Repeats {
		o.Text = channels.RepeatMark + o.Text
	}
	return sendCall{o, true}
}

// message is the message to send.
func (c sendCall) message() channels.Outbound {
	o := c.Outbound
	mayRepeat := o.Repeats || !c.Marked && o.Uncertain && o.Edit == ""
	if text, found := strings.CutPrefix(o.Text, channels.RepeatMark); found && mayRepeat {
		o.Text = text
		o.Repeats = true
	}
	text, _, form := channels.WithoutMarks(o.Text)
	if !c.Marked {
		o.Form = form
	}
	if form == o.Form {
		o.Text = text
	}
	return o
}
