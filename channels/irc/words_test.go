package irc_test

import (
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/irc"
)

// TestNothingIsDropped: whatever the Markdown, every word of an answer is in a
// line, and in order.
func TestNothingIsDropped(t *testing.T) {
	ch := pure(t)
	for _, a := range channeltest.NastyAnswers(200) {
		var shown []string
		for _, piece := range ch.Split(channels.MustKey("irc:alice"), a.Markdown) {
			shown = append(shown, irc.WirePiece(piece, 500)...)
		}
		a.EveryWord(t, strings.Join(shown, "\n"), channeltest.But{
			Lost:  []channeltest.Place{channeltest.Surplus},
			Moved: []channeltest.Place{channeltest.Definition},
		})
	}
}
