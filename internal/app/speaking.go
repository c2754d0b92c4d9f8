package app

import (
	"bytes"
	"context"
	"fmt"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
	"dragoman/internal/speaking"
)

var _ = feature(func(cfg *config.Config, d *Daemon) []api.Feature {
	f := api.Feature{Name: "speaking", State: api.FeatureOff, Says: "voice messages are answered in writing: set speaking.url"}
	switch c := cfg.Speaking; {
	case c.URL != "" && cfg.Hearing.URL == "":
		f.State = api.FeatureFailing
		f.Says = "nobody is answered aloud, because voice messages are not heard: set hearing.url"
	case c.URL != "":
		f.State = api.FeatureOn
		f.Says = "short answers to voice messages are spoken by " + c.Model + at(c.URL)
	}
	if d != nil {
		f = d.outages.speaking.seen(f, "the last answer was not spoken")
	}
	return []api.Feature{f}
})

// speaker keeps answers as voice messages.
type speaker struct {
	parcels parcels
	mouth   *speaking.Speaker
	outage  *outage
}

// Speak implements [gateway.Speaker].
func (s speaker) Speak(ctx context.Context, k channels.Key, turn, text string) (channels.Attachment, error) {
	a := channels.Attachment{Kind: channels.AttachmentVoice, Name: "voice.ogg", Type: "audio/ogg"}
	said, can := speaking.Spoken(text)
	if !can {
		return a, nil
	}
	sound, seconds, err := s.mouth.Say(ctx, said)
	s.outage.note(ctx, err)
	if err != nil {
		return a, err
	}
	a.Bytes = int64(len(sound))
	a.Seconds = seconds
	return s.parcels.keep(ctx, k, "voice "+turn, a, bytes.NewReader(sound))
}

// speaking is the configured speaker, or nil.
func (d *Daemon) speaking() (gateway.Speaker, error) {
	c := d.cfg.Speaking
	if c.URL == "" {
		return nil, nil
	}
	mouth, err := speaking.New(speaking.Options{URL: c.URL, Key: c.APIKey.Reveal(), Model: c.Model, Voice: c.Voice})
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	return speaker{d.parcels(), mouth, &d.outages.speaking}, nil
}
