//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/store"
	"google.golang.org/protobuf/proto"
)

// VersionAuto asks WhatsApp for the current version of WhatsApp Web.
const VersionAuto = "auto"

// ParseVersion parses a version like "2.3000.1234567890". It returns the zero version for
// "" and [VersionAuto].
func ParseVersion(s string) (v store.WAVersionContainer, err error) {
	if s == "" || s == VersionAuto {
		return v, nil
	}
	if v, err = store.ParseVersion(s); err != nil || v.String() != s {
		return v, fmt.Errorf("whatsapp: %q is not a version of WhatsApp Web; write %q, or three numbers like 2.3000.1045649367", s, VersionAuto)
	}
	return v, nil
}

const fetchVersionTimeout = 20 * time.Second

// fetchVersion asks WhatsApp for the current version if Options.WebVersion is
// [VersionAuto] and it is not known yet. If that fails we still connect, because the
// library's version may work.
func (c *Channel) fetchVersion(ctx context.Context) {
	if c.o.WebVersion != VersionAuto || !c.version.Load().IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fetchVersionTimeout)
	defer cancel()
	w := c.newWire()
	defer w.cut()
	v, err := whatsmeow.GetLatestVersion(ctx, w.Client)
	if err != nil {
		c.log.Warn("could not get the current version of WhatsApp Web", "err", err)
		return
	}
	c.version.Store(v)
}

// payload is what the client says about itself when it connects. The library has these
// settings in package variables. We change a copy, so that each channel has its own.
func payload(d *store.Device, title string, v store.WAVersionContainer) *waWa6.ClientPayload {
	p := d.GetClientPayload()
	if !v.IsZero() {
		p.UserAgent.AppVersion = v.ProtoAppVersion()
	}
	if reg := p.GetDevicePairingData(); reg != nil {
		if !v.IsZero() {
			hash := v.Hash()
			reg.BuildHash = hash[:]
		}
		var props waCompanionReg.DeviceProps
		if proto.Unmarshal(reg.GetDeviceProps(), &props) == nil {
			props.Os = proto.String(title)
			if b, err := proto.Marshal(&props); err == nil {
				reg.DeviceProps = b
			}
		}
	}
	return p
}
