package config

import (
	"fmt"
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
			return nil, fmt.Errorf("%q is no address and no network", text)
		}
		list = append(list, p.Masked())
	}
	return list, nil
}
