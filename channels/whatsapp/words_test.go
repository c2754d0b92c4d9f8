//go:build !nowhatsapp

package whatsapp_test

import (
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/whatsapp"
)

// TestNothingIsDropped: for any Markdown, every word of an answer arrives, in order.
func TestNothingIsDropped(t *testing.T) {
	for _, a := range channeltest.NastyAnswers(400) {
		var shown []string
		for _, piece := range (*whatsapp.Channel)(nil).Split(channels.MustKey("whatsapp:+1"), a.Markdown) {
			shown = append(shown, whatsapp.Render(piece.Text))
		}
		a.EveryWord(t, strings.Join(shown, "\n"), channeltest.But{
			Lost:  []channeltest.Place{channeltest.Language, channeltest.Surplus},
			Moved: []channeltest.Place{channeltest.Definition, channeltest.Head},
		})
	}
}
