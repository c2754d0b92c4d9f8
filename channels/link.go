package channels

import "context"

// Linker is a channel whose account belongs to a phone that must link it.
// Without it a channel needs no phone.
type Linker interface {
	Channel
	// Link shows invitations until a phone accepts one or ctx ends, and returns
	// the account's name. An empty phone asks for QR codes; else it is the
	// number of the phone on which a code will be typed. Its errors are shown
	// to the person.
	Link(ctx context.Context, phone string, show func(Invitation)) (account string, err error)
	// Unlink forgets the account, also while the channel runs. told: the
	// network knows, so the phone does not list the device any more.
	Unlink(ctx context.Context) (told bool, err error)
}

// Invitation is what a person needs to link a channel to a phone: the text of
// a QR code to scan, good until the next one, or a code to type there. Both
// are secrets.
type Invitation struct {
	QR   string `json:"qr,omitempty"`
	Code string `json:"code,omitempty"`
}
