package tools_test

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"dragoman/agent/tools"
)

var (
	// inside are addresses that must never be connected to.
	inside = strings.Fields(`
		0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.1.2.3 127.255.255.255
		168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.31.196.1
		192.52.193.1 192.88.99.1 192.168.0.1 192.168.255.255 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1
		224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
		:: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 ::a9fe:a9fe 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::a00:1
		100::1 2001::1 2001:0:53aa:64c:0:5efe:7f00:1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 2002:a00:1::1 2620:4f:8000::1
		3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fd00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 2606:4700::1%eth0 fec0::1 ff02::1 ff0e::1
		2606:4700::5efe:7f00:1 2a00:1450::200:5efe:a00:1 1fff:ffff::1`)
	// outside are addresses of the public internet.
	outside = strings.Fields(`
		1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.216.34 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.17 169.253.255.255
		169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
		::ffff:8.8.8.8 2000::1 2001:200::1 2001:4860:4860::8888 2003::1 2400:cb00::1 2606:4700:4700::1111 2a00:1450:4001::200e 3ffe::1 3fff:1000::1`)
)

func TestCheckAddr(t *testing.T) {
	for _, text := range inside {
		if err := tools.CheckAddr(netip.MustParseAddr(text)); err == nil {
			t.Errorf("CheckAddr(%s) = nil, want a refusal", text)
		}
	}
	for _, text := range outside {
		if err := tools.CheckAddr(netip.MustParseAddr(text)); err != nil {
			t.Errorf("CheckAddr(%s) = %v, want nil", text, err)
		}
	}
	if err := tools.CheckAddr(netip.Addr{}); err == nil {
		t.Error("CheckAddr of nothing = nil, want a refusal")
	}
}

func TestCheckURL(t *testing.T) {
	for text, words := range map[string]string{
		"ftp://example.com/": "must begin with", "file:///etc/passwd": "must begin with", "gopher://example.com/": "must begin with",
		"javascript:alert(1)": "must begin with", "//example.com/": "must begin with", "example.com": "must begin with", "http:example.com": "not followed by",
		"http:///path": "has no host", "http://:80/": "has no host", "http://user@example.com/": "user name", "http://user:pw@example.com/": "user name",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatalf("url.Parse(%q) = %v; the row checks nothing", text, err)
		}
		if err := tools.CheckURL(u); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("CheckURL(%s) = %v, want a refusal with %q", text, err, words)
		}
	}
	for _, text := range []string{
		"http://example.com", "https://example.com/a?b=c#d", "HTTPS://EXAMPLE.com:443/", "http://example.com:80/", "http://8.8.8.8/", "http://[2606:4700:4700::1111]/",
		"https://bücher.example/", "https://例え.テスト/", "https://my_site.example.com/", "http://example.com./", "http://1password.com/", "http://0xabcdefg.example/", "http://localhost/",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := tools.CheckURL(u); err != nil { // localhost is a name; the dialer refuses it: see TestFetchRefusesLoopback
			t.Errorf("CheckURL(%s) = %v, want nil", text, err)
		}
	}
}

func TestCheckTarget(t *testing.T) {
	for text, words := range map[string]string{
		"1.1.1.1:80": "", "[2606:4700:4700::1111]:443": "", "1.1.1.1:22": "port 22", "8.8.8.8:8443": "port 8443", "1.1.1.1:0": "port 0",
		"127.0.0.1:80": "not on the public", "[::ffff:127.0.0.1]:443": "not on the public", "[fe80::1%eth0]:80": "zone", "169.254.169.254:80": "not on the public",
	} {
		err := tools.CheckTarget(netip.MustParseAddrPort(text))
		if (err == nil) != (words == "") || err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("CheckTarget(%s) = %v, want a refusal with %q", text, err, words)
		}
	}
}

// public is an independent check, built from what the standard library knows.
func public(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !a.IsMulticast() && !a.IsUnspecified() && a.Zone() == ""
}

func FuzzCheckAddr(f *testing.F) {
	for _, text := range append(inside, outside...) {
		b, err := netip.MustParseAddr(text).MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var a netip.Addr
		if err := a.UnmarshalBinary(b); err != nil {
			t.Skip()
		}
		if tools.CheckAddr(a) != nil {
			return
		}
		if !public(a) {
			t.Errorf("CheckAddr(%s) = nil, want a refusal", a)
		}
		if a.Is4() { // the result must be the same however it is wrapped
			if err := tools.CheckAddr(netip.AddrFrom16(a.As16())); err != nil {
				t.Errorf("CheckAddr(%s) = nil, but mapped into IPv6: %v", a, err)
			}
		}
	})
}

func FuzzCheckURL(f *testing.F) {
	for _, text := range append(inside, outside...) {
		f.Add("http://" + text + "/")
		f.Add("https://[" + text + "]:443/")
	}
	for _, text := range []string{"http://①②⑦.⓪.⓪.①/", "http://2130706433", "http://0x7f.1", "http://a@b", "http://example.com:80", "http://[::1%25lo]/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil || tools.CheckURL(u) != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Host == "" {
			t.Errorf("CheckURL(%q) = nil, want a refusal", text)
		}
	})
}

func BenchmarkCheckAddr(b *testing.B) {
	a := netip.MustParseAddr("2a00:1450:4001::200e")
	for b.Loop() {
		if tools.CheckAddr(a) != nil {
			b.Fatal("refused")
		}
	}
}
