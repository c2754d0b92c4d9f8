package channels

import "context"

// Linker is a channel that a person has to link to the account on their phone.
// Other channels need no phone.
type Linker interface {
	Channel
	// Link shows invitations until a phone accepts one or ctx ends, and returns
	// the account's name. An empty phone asks for QR codes; otherwise it is the
	// number of the phone on which the person will type a code. The person sees
	// its errors.
	Link(ctx context.Context, phone string, show func(Invitation)) (account string, err error)
	// Unlink removes the account from the channel, even while the channel runs.
	// notified reports whether the network knows, so that the phone no longer
	// lists the device.
	Unlink(ctx context.Context) (notified bool, err error)
}

// Invitation is what a person needs to link a channel to a phone: the text of
// a QR code to scan, good until the next one, or a code to type there. Both
// are secrets.
type Invitation struct {
	QR   string `json:"qr,omitempty"`
	Code string `json:"code,omitempty"`
}
