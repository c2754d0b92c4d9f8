package channels_test

import (
	"testing"

	"dragoman/channels"
)

func TestViaHook(t *testing.T) {
	if name := channels.ViaHook("grafana").Hook(); name != "grafana" {
		t.Errorf("the hook is called %q", name)
	}
	for _, v := range []channels.Via{channels.ViaChat, channels.ViaAPI, channels.ViaMCP, channels.ViaOthers} {
		if name := v.Hook(); name != "" {
			t.Errorf("%q is the hook %q", v, name)
		}
	}
}
