package config

import (
	"fmt"
	"net"
	"net/netip"
)

// Proxies are TrustedProxies as networks.
func (h HTTP) Proxies() (list []netip.Prefix, err error) {
	for _, text := range h.TrustedProxies {
		p, bad := netip.ParsePrefix(text)
		if bad != nil {
			var addr netip.Addr
			if addr, bad = netip.ParseAddr(text); bad == nil {
				p = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
			}
		}
		if bad != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network", text)
		}
		list = append(list, p.Masked())
	}
	return list, nil
}

// Private reports whether only people of this machine can open the page: it
// listens on loopback, and no proxy is configured that leads there.
func (h HTTP) Private() bool {
	host, _, err := net.SplitHostPort(h.Listen)
	return err == nil && loopbackHost(host) && len(h.TrustedProxies) == 0 && h.PublicURL == ""
}
