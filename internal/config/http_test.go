package config_test

import (
	"testing"

	"dragoman/internal/config"
)

func TestPrivate(t *testing.T) {
	for name, tt := range map[string]struct {
		http config.HTTP
		want bool
	}{
		"loopback":            {config.HTTP{Listen: "127.0.0.1:8787"}, true},
		"its name":            {config.HTTP{Listen: "localhost:8787"}, true},
		"of the other family": {config.HTTP{Listen: "[::1]:8787"}, true},
		"everywhere":          {config.HTTP{Listen: ":8787"}, false},
		"a network":           {config.HTTP{Listen: "192.168.1.2:8787"}, false},
		"off":                 {config.HTTP{Listen: "off"}, false},
		"behind a proxy":      {config.HTTP{Listen: "127.0.0.1:8787", TrustedProxies: []string{"127.0.0.1"}}, false},
		"with another name":   {config.HTTP{Listen: "127.0.0.1:8787", PublicURL: "https://chat.example.org"}, false},
	} {
		if got := tt.http.Private(); got != tt.want {
			t.Errorf("%s: Private() = %v, want %v", name, got, tt.want)
		}
	}
}
