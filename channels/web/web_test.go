package web_test

import (
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/live"
	"dragoman/channels/live/livetest"
	"dragoman/channels/web"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChannel(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Network {
		return livetest.New(t, channels.MustKey("web:default"), func(feed live.Feed) (livetest.Channel, error) {
			return web.New(web.Options{Feed: feed})
		})
	})
}

func TestNewRefuses(t *testing.T) {
	if _, err := web.New(web.Options{}); err == nil {
		t.Error("New without a Feed = nil, want an error")
	}
	none := func() live.Feed { return (&livetest.Network{}).ReadFeed }()
	if _, err := web.New(web.Options{Name: "Not A Name", Feed: none}); err == nil {
		t.Error("New with a bad name = nil, want an error")
	}
}
