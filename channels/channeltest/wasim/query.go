package wasim

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// query answers one info query: the content of the result, or an error code.
type query func(s *Server, c *conn, n *waBinary.Node) (content []waBinary.Node, code int)

// queries are the ones with answers; all others have an empty result. Their
// names are xmlns and the tag of the first child.
var queries = map[string]query{
	"encrypt count":              countKeys,
	"encrypt registration":       takeKeys,
	"encrypt key":                giveKeys,
	"usync usync":                findUsers,
	"w:g2 query":                 describeGroup,
	"w:g2 participating":         listGroups,
	"w:m media_conn":             mediaHosts,
	"privacy privacy":            privacy,
	"md link_code_companion_reg": pairByCode,
	"md remove-companion-device": logout,
}

func (s *Server) handleQuery(c *conn, n *waBinary.Node) {
	id := text(n.Attrs["id"])
	switch text(n.Attrs["type"]) {
	case "result", "error":
		s.pairAnswer(c, n)
		return
	}
	space, tag := text(n.Attrs["xmlns"]), ""
	if children := n.GetChildren(); len(children) > 0 {
		tag = children[0].Tag
	}
	s.counts["iq:"+space]++
	if space == "w:p" && s.Faults.ignoreKeepalives {
		return
	}
	answer := waBinary.Node{Tag: "iq", Attrs: waBinary.Attrs{"from": types.ServerJID, "id": id, "type": "result"}}
	if to, ok := n.Attrs["to"].(types.JID); ok {
		answer.Attrs["from"] = to
	}
	code := s.Faults.failQueries[space]
	if code < 0 {
		return
	}
	if handle := queries[space+" "+tag]; handle != nil && code == 0 {
		if c.device == nil && space != "md" {
			return // it is not logged in
		}
		var content []waBinary.Node
		content, code = handle(s, c, n)
		answer.Content = content
	}
	if code != 0 {
		answer.Attrs["type"] = "error"
		answer.Content = []waBinary.Node{{Tag: "error", Attrs: waBinary.Attrs{"code": code, "text": "simulated"}}}
	}
	c.send(answer)
}

func countKeys(_ *Server, c *conn, _ *waBinary.Node) ([]waBinary.Node, int) {
	return []waBinary.Node{{Tag: "count", Attrs: waBinary.Attrs{"value": len(c.device.once)}}}, 0
}

func takeKeys(s *Server, c *conn, n *waBinary.Node) ([]waBinary.Node, int) {
	d := c.device
	list := n.GetChildByTag("list")
	for _, child := range list.GetChildren() {
		key, err := readOnceKey(child)
		if err != nil {
			s.options.Logf("%v", err)
			return nil, 406
		}
		d.once = append(d.once, key)
	}
	signed, err := readOnceKey(n.GetChildByTag("skey"))
	signature, _ := n.GetChildByTag("skey", "signature").Content.([]byte)
	identity, _ := n.GetChildByTag("identity").Content.([]byte)
	registration, _ := n.GetChildByTag("registration").Content.([]byte)
	if err != nil || len(signature) != 64 || len(identity) != 32 || len(registration) != 4 {
		return nil, 406
	}
	d.signed = signedKey{signed, [64]byte(signature)}
	d.identity = [32]byte(identity)
	d.registration = binary.BigEndian.Uint32(registration)
	return nil, 0
}

// giveKeys hands out the bundles of phones and devices.
func giveKeys(s *Server, _ *conn, n *waBinary.Node) ([]waBinary.Node, int) {
	var users []waBinary.Node
	asked := n.GetChildByTag("key")
	for _, child := range asked.GetChildren() {
		jid, _ := child.Attrs["jid"].(types.JID)
		user := waBinary.Node{Tag: "user", Attrs: waBinary.Attrs{"jid": jid}}
		switch person, d := s.contacts[jid.User], s.devices[jid.Device]; {
		case person != nil && jid.Device == 0:
			user.Content = append(person.party.offer(), person.party.registration())
		case person == s.owner && d != nil:
			user.Content = d.offer()
		default:
			user.Content = []waBinary.Node{{Tag: "error", Attrs: waBinary.Attrs{"code": 404, "text": "item-not-found"}}}
		}
		users = append(users, user)
	}
	return []waBinary.Node{{Tag: "list", Content: users}}, 0
}

// offer is d's bundle for another device of the account.
func (d *device) offer() []waBinary.Node {
	node := func(tag string, k onceKey, more ...waBinary.Node) waBinary.Node {
		return waBinary.Node{Tag: tag, Content: append([]waBinary.Node{
			{Tag: "id", Content: binary.BigEndian.AppendUint32(nil, k.id)[1:]},
			{Tag: "value", Content: k.pub[:]},
		}, more...)}
	}
	content := []waBinary.Node{
		{Tag: "registration", Content: binary.BigEndian.AppendUint32(nil, d.registration)},
		{Tag: "identity", Content: d.identity[:]},
		node("skey", d.signed.onceKey, waBinary.Node{Tag: "signature", Content: d.signed.signature[:]}),
	}
	if len(d.once) > 0 {
		content = append(content, node("key", d.once[0]))
		d.once = d.once[1:]
	}
	return content
}

// findUsers says who is there, on which devices and under which hidden id.
func findUsers(s *Server, _ *conn, n *waBinary.Node) ([]waBinary.Node, int) {
	asked := n.GetChildByTag("usync", "query")
	list := n.GetChildByTag("usync", "list")
	var users []waBinary.Node
	for _, user := range list.GetChildren() {
		jid, _ := user.Attrs["jid"].(types.JID)
		wanted := user.GetChildByTag("contact")
		if number := contactNumber(wanted.Content); number != "" {
			jid = types.NewJID(number, types.DefaultUserServer)
		}
		person := s.contacts[jid.User]
		answer := waBinary.Node{Tag: "user", Attrs: waBinary.Attrs{"jid": jid}}
		var content []waBinary.Node
		for _, what := range asked.GetChildren() {
			switch {
			case what.Tag == "devices" && person != nil:
				content = append(content, s.deviceList(person))
			case what.Tag == "lid" && person != nil:
				content = append(content, waBinary.Node{Tag: "lid", Attrs: waBinary.Attrs{"val": person.lid}})
			case what.Tag == "contact":
				kind := "out"
				if person != nil {
					kind = "in"
					if what.Attrs["addressing_mode"] == "lid" {
						answer.Attrs["jid"], answer.Attrs["pn_jid"] = person.lid, person.pn
					}
				}
				content = append(content, waBinary.Node{Tag: "contact", Attrs: waBinary.Attrs{"type": kind}, Content: wanted.Content})
			}
		}
		answer.Content = content
		users = append(users, answer)
	}
	return []waBinary.Node{{Tag: "usync", Attrs: n.GetChildByTag("usync").Attrs, Content: []waBinary.Node{{Tag: "list", Content: users}}}}, 0
}

// contactNumber is the number in "+123" or "+123@c.us".
func contactNumber(content any) string {
	var number string
	switch v := content.(type) {
	case []byte:
		number = string(v)
	case string:
		number = v
	}
	number, _, _ = strings.Cut(number, "@")
	return digits(number)
}

func (s *Server) deviceList(person *Contact) waBinary.Node {
	devices := []waBinary.Node{{Tag: "device", Attrs: waBinary.Attrs{"id": 0}}}
	if person == s.owner {
		for _, d := range s.sortedDevices() {
			devices = append(devices, waBinary.Node{Tag: "device", Attrs: waBinary.Attrs{"id": int(d.pn.Device), "key-index": int(d.pn.Device)}})
		}
	}
	return waBinary.Node{Tag: "devices", Content: []waBinary.Node{{Tag: "device-list", Content: devices}}}
}

func (s *Server) sortedDevices() []*device {
	var all []*device
	for _, d := range s.devices {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *device) int { return int(a.pn.Device) - int(b.pn.Device) })
	return all
}

func privacy(*Server, *conn, *waBinary.Node) ([]waBinary.Node, int) {
	var categories []waBinary.Node
	for _, name := range []string{"groupadd", "last", "status", "profile", "readreceipts", "online", "calladd"} {
		categories = append(categories, waBinary.Node{Tag: "category", Attrs: waBinary.Attrs{"name": name, "value": "all"}})
	}
	return []waBinary.Node{{Tag: "privacy", Content: categories}}, 0
}

// logout unlinks the device that asks for it.
func logout(s *Server, c *conn, _ *waBinary.Node) ([]waBinary.Node, int) {
	if c.device == nil {
		return nil, 401
	}
	delete(s.devices, c.device.pn.Device)
	return nil, 0
}

func describeGroup(s *Server, _ *conn, n *waBinary.Node) ([]waBinary.Node, int) {
	to, _ := n.Attrs["to"].(types.JID)
	g := s.groups[to.User]
	switch {
	case g == nil:
		return nil, 404
	case !slices.Contains(g.members, s.owner):
		return nil, 403
	}
	return []waBinary.Node{g.describe()}, 0
}

func listGroups(s *Server, _ *conn, _ *waBinary.Node) ([]waBinary.Node, int) {
	var all []waBinary.Node
	for _, g := range s.groups {
		if slices.Contains(g.members, s.owner) {
			all = append(all, g.describe())
		}
	}
	return []waBinary.Node{{Tag: "groups", Content: all}}, 0
}

// loginFailure is the stanza that refuses a login.
func loginFailure(code int) waBinary.Node {
	if code == 402 {
		return ban(time.Hour)
	}
	return waBinary.Node{Tag: "failure", Attrs: waBinary.Attrs{"reason": code, "location": "sim"}}
}

// ban refuses a login for so long.
func ban(d time.Duration) waBinary.Node {
	seconds := int64((d + time.Second - 1) / time.Second)
	return waBinary.Node{Tag: "failure", Attrs: waBinary.Attrs{"reason": 402, "location": "sim", "code": 101, "expire": seconds}}
}

// conflict ends a stream because of another device.
func conflict(code, kind string) waBinary.Node {
	n := waBinary.Node{Tag: "stream:error", Content: []waBinary.Node{{Tag: "conflict", Attrs: waBinary.Attrs{"type": kind}}}}
	if code != "" {
		n.Attrs = waBinary.Attrs{"code": code}
	}
	return n
}

// streamError ends a stream.
func streamError(code int) waBinary.Node {
	return waBinary.Node{Tag: "stream:error", Attrs: waBinary.Attrs{"code": fmt.Sprint(code)}}
}
