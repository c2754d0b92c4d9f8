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

// ParseVersion reads "2.3000.1234567890"; zero for "" and [VersionAuto].
func ParseVersion(s string) (v store.WAVersionContainer, err error) {
	if s == "" || s == VersionAuto {
		return v, nil
	}
	if v, err = store.ParseVersion(s); err != nil || v.String() != s {
		return v, fmt.Errorf("whatsapp: %q is not a version of WhatsApp Web; write %q, or three numbers like 2.3000.1045649367", s, VersionAuto)
	}
	return v, nil
}

// claimed is the version to claim; zero is the library's.
func (c *Channel) claimed() store.WAVersionContainer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

const askVersionLimit = 20 * time.Second

// askVersion finds out the current version if that is wanted and not known.
// A failure is no reason not to connect: the library's own may still do.
func (c *Channel) askVersion(ctx context.Context) {
	if c.o.WebVersion != VersionAuto || !c.claimed().IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askVersionLimit)
	defer cancel()
	w := c.newWire()
	defer w.cut()
	v, err := whatsmeow.GetLatestVersion(ctx, w.Client)
	if err != nil {
		c.log.Warn("could not find out the current version of WhatsApp Web", "err", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = *v
}

// forgetVersion lets "auto" ask again.
func (c *Channel) forgetVersion() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = store.WAVersionContainer{}
}

// payload is what the client says about itself when it connects. The library
// keeps these facts in package variables; changing a copy instead lets several
// channels differ.
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
