//go:build !nowhatsapp

package whatsapp_test

import (
	"slices"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/whatsapp"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"
)

var (
	annPN  = types.NewJID("15550000002", types.DefaultUserServer)
	annLID = types.NewJID("800", types.HiddenUserServer)
	ownPN  = types.NewJID("15550000001", types.DefaultUserServer)
	ownLID = types.NewJID("900", types.HiddenUserServer)
	group  = types.NewJID("120363000000000001", types.GroupServer)
	said   = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
)

func words(s string) *waE2E.Message { return &waE2E.Message{Conversation: proto.String(s)} }

func about(s string, c *waE2E.ContextInfo) *waE2E.Message {
	return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String(s), ContextInfo: c}}
}

// from returns a message from Ann's device 5 in chat.
func from(chat types.JID, m *waE2E.Message) *events.Message {
	sender := annLID
	sender.Device = 5
	info := types.MessageInfo{
		MessageSource: types.MessageSource{Chat: chat, Sender: sender, SenderAlt: annPN, IsGroup: chat.Server == types.GroupServer},
		ID:            "M1", PushName: "Ann\nB", Timestamp: said,
	}
	return (&events.Message{Info: info, RawMessage: m}).UnwrapRaw()
}

func ann(m *waE2E.Message) *events.Message { return from(annLID, m) }

func TestReadPrivate(t *testing.T) {
	got := whatsapp.Read(ann(words("hello")))
	want := channels.Inbound{
		Key: channels.MustKey("whatsapp:+15550000002"), ID: "M1/800", MessageID: "M1", Text: "hello", Private: true,
		Sender: channels.Person{IDs: []string{"+15550000002", "800@lid"}, Name: "Ann B"}, At: said,
	}
	if diff := cmp.Diff(want, got.In, cmp.AllowUnexported(channels.Key{})); !got.OK || diff != "" {
		t.Errorf("ok = %v, message (-want +got):\n%s", got.OK, diff)
	}
}

func TestReadText(t *testing.T) {
	photo := &waE2E.Message{ImageMessage: &waE2E.ImageMessage{Caption: proto.String("look")}}
	envelope := func(m *waE2E.Message) *waE2E.FutureProofMessage { return &waE2E.FutureProofMessage{Message: m} }
	tests := []struct {
		name string
		m    *waE2E.Message
		want string // "" if it is ignored
		file string // the kind of its file
	}{
		{"text", words("plain"), "plain", ""},
		{"extended", about("with a link", nil), "with a link", ""},
		{"caption", photo, "look", "image  "},
		{"photo", &waE2E.Message{ImageMessage: &waE2E.ImageMessage{Mimetype: proto.String("image/jpeg\n")}}, "", "image  image/jpeg"},
		{"sticker", &waE2E.Message{LottieStickerMessage: envelope(&waE2E.Message{StickerMessage: &waE2E.StickerMessage{}})}, "", "sticker  "},
		{"round video", &waE2E.Message{PtvMessage: &waE2E.VideoMessage{}}, "", "video  "},
		{"audio", &waE2E.Message{AudioMessage: &waE2E.AudioMessage{}}, "", "audio  "},
		{"video", &waE2E.Message{VideoMessage: &waE2E.VideoMessage{Seconds: proto.Uint32(7)}}, "", "video  "},
		{"voice", &waE2E.Message{AudioMessage: &waE2E.AudioMessage{PTT: proto.Bool(true), Seconds: proto.Uint32(3)}}, "", "voice  "},
		{"file", &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{FileName: proto.String("a]b\n.pdf")}}, "", "document a]b\n.pdf "},
		{"file with caption", &waE2E.Message{DocumentWithCaptionMessage: envelope(&waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{FileName: proto.String("a"), Caption: proto.String("read")}})}, "read", "document a "},
		{"place", &waE2E.Message{LocationMessage: &waE2E.LocationMessage{Name: proto.String("Bar"), DegreesLatitude: proto.Float64(1), DegreesLongitude: proto.Float64(2)}}, "[place Bar, 1.00000, 2.00000]", ""},
		{"poll", &waE2E.Message{PollCreationMessageV3: &waE2E.PollCreationMessage{Name: proto.String("When?"), Options: []*waE2E.PollCreationMessage_Option{{OptionName: proto.String("now")}, {OptionName: proto.String("later")}}}}, "[poll When?: now / later]", ""},
		{"contact", &waE2E.Message{ContactMessage: &waE2E.ContactMessage{DisplayName: proto.String("Bob"), Vcard: proto.String("TEL;waid=1:+1 555\nEMAIL:b@example.org")}}, "[contact Bob, +1 555, b@example.org]", ""},
		{"contacts", &waE2E.Message{ContactsArrayMessage: &waE2E.ContactsArrayMessage{Contacts: []*waE2E.ContactMessage{{DisplayName: proto.String("Bob"), Vcard: proto.String("TEL:+1")}, {DisplayName: proto.String("Eve")}}}}, "[2 contacts: Bob, +1 / Eve]", ""},
		{"cancelled event", &waE2E.Message{EventMessage: &waE2E.EventMessage{
			Name: proto.String("Party"), StartTime: proto.Int64(86400), EndTime: proto.Int64(90000), JoinLink: proto.String("https://call.example"), IsCanceled: proto.Bool(true),
		}}, "[event Party, begins 1970-01-02 00:00 UTC, ends 1970-01-02 01:00 UTC, https://call.example, cancelled]", ""},
		{"event", &waE2E.Message{EventMessage: &waE2E.EventMessage{Name: proto.String("Party"), StartTime: proto.Int64(86400), Location: &waE2E.LocationMessage{Name: proto.String("Bar")}}}, "[event Party, begins 1970-01-02 00:00 UTC, Bar]", ""},
		{"button", &waE2E.Message{ButtonsResponseMessage: &waE2E.ButtonsResponseMessage{Response: &waE2E.ButtonsResponseMessage_SelectedDisplayText{SelectedDisplayText: "Yes"}}}, "Yes", ""},
		{"ephemeral", &waE2E.Message{EphemeralMessage: envelope(words("gone soon"))}, "gone soon", ""},
		{"view once", &waE2E.Message{ViewOnceMessageV2: envelope(photo)}, "look\n[to be viewed once]", "image  "},
		{"envelope in envelope", &waE2E.Message{EphemeralMessage: envelope(&waE2E.Message{GroupMentionedMessage: envelope(words("inside"))})}, "inside", ""},
		{"unknown kind", &waE2E.Message{PaymentInviteMessage: &waE2E.PaymentInviteMessage{}}, "[a kind of message that cannot be read here]", ""},
		{"empty", &waE2E.Message{}, "", ""},
		{"keys only", &waE2E.Message{SenderKeyDistributionMessage: &waE2E.SenderKeyDistributionMessage{}, MessageContextInfo: &waE2E.MessageContextInfo{}}, "", ""},
		{"reaction", &waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{Text: proto.String("👍")}}, "", ""},
		{"vote", &waE2E.Message{PollUpdateMessage: &waE2E.PollUpdateMessage{}}, "", ""},
		{"settings", &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_EPHEMERAL_SETTING.Enum()}}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := whatsapp.Read(ann(tt.m))
			file := ""
			for _, a := range got.In.Attachments {
				file += string(a.Kind) + " " + a.Name + " " + a.Type
				if a.Missing == "" || a.Ref != "" {
					t.Errorf("a file without a path = %+v, want it missing", a)
				}
			}
			if got.OK != (tt.want != "" || tt.file != "") || got.In.Text != tt.want || file != tt.file {
				t.Errorf("Read = %q with %q, %v, want %q with %q", got.In.Text, file, got.OK, tt.want, tt.file)
			}
		})
	}
}

// Messages from some sources are ignored.
func TestReadSource(t *testing.T) {
	with := func(change func(*events.Message)) *events.Message {
		evt := ann(words("hi"))
		change(evt)
		return evt
	}
	own := func(chat types.JID, device uint16) func(*events.Message) {
		return func(e *events.Message) {
			e.Info.Chat = chat
			e.Info.Sender = ownPN
			e.Info.SenderAlt = types.JID{}
			e.Info.IsFromMe = true
			e.Info.Sender.Device = device
		}
	}
	tests := []struct {
		name string
		evt  *events.Message
		key  string // "" if it is ignored
	}{
		{"by LID", ann(words("hi")), "whatsapp:+15550000002"},
		{"by phone", with(func(e *events.Message) {
			e.Info.Chat = annPN
			e.Info.Sender = annPN
			e.Info.SenderAlt = annLID
		}), "whatsapp:+15550000002"},
		{"LID alone", with(func(e *events.Message) { e.Info.SenderAlt = types.JID{} }), "whatsapp:800@lid"},
		{"group", from(group, words("hi")), "whatsapp:120363000000000001@g.us"},
		{"broadcast list", with(func(e *events.Message) { e.Info.Chat, e.Info.IsGroup = types.NewJID("77", types.BroadcastServer), true }), "whatsapp:+15550000002"},
		{"note to self", with(own(ownPN, 0)), "whatsapp:+15550000001"},
		{"note to self by LID", with(own(ownLID, 0)), "whatsapp:+15550000001"},
		{"what we sent ourselves", with(own(ownPN, 3)), ""},
		{"owner to Ann", with(own(annPN, 0)), ""},
		{"owner in a group", with(func(e *events.Message) { own(group, 0)(e); e.Info.IsGroup = true }), ""},
		{"status", with(func(e *events.Message) { e.Info.Chat, e.Info.IsGroup = types.StatusBroadcastJID, true }), ""},
		{"newsletter", with(func(e *events.Message) { e.Info.Chat = types.NewJID("5", types.NewsletterServer) }), ""},
		{"peer", with(func(e *events.Message) { e.Info.Category = "peer" }), ""},
		{"bot", with(func(e *events.Message) { e.Info.Chat, e.Info.Sender = types.MetaAIJID, types.MetaAIJID }), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := whatsapp.Read(tt.evt)
			if got.OK != (tt.key != "") || got.In.Key.String() != tt.key {
				t.Errorf("Read = %s, %v, want %s", got.In.Key, got.OK, tt.key)
			}
		})
	}
}

func TestReadGroup(t *testing.T) {
	mention := func(jid types.JID) *waE2E.ContextInfo {
		return &waE2E.ContextInfo{MentionedJID: []string{jid.String()}}
	}
	answer := func(author types.JID) *waE2E.ContextInfo {
		return &waE2E.ContextInfo{StanzaID: proto.String("Q"), Participant: proto.String(author.String()), QuotedMessage: words("before")}
	}
	tests := []struct {
		name      string
		m         *waE2E.Message
		text      string
		addressed bool
	}{
		{"talk", words("nothing to do with you"), "nothing to do with you", false},
		{"mention by number", about("@15550000001 what?", mention(ownPN)), "what?", true},
		{"mention by LID", about("@900, what?", mention(ownLID)), "what?", true},
		{"mention inside", about("ask @900 now", mention(ownLID)), "ask @900 now", true},
		{"mention alone", about("@900", mention(ownLID)), "@900", true},
		{"mention of another", about("@800 what?", mention(annLID)), "@800 what?", false},
		{"number without a mention", words("@900 what?"), "@900 what?", false},
		{"answer to us", about("why?", answer(ownLID)), "why?", true},
		{"answer to us by number", about("why?", answer(ownPN)), "why?", true},
		{"answer to another", about("why?", answer(annLID)), "why?", false},
		{"name and colon", words("dragoman: why?"), "why?", true},
		{"name and comma", words(" Dragoman, why?"), "why?", true},
		{"no space", words("Dragoman:why?"), "why?", true},
		{"name at the end", words("why, dragoman?"), "why, dragoman?", true},
		{"name with an at", words("@Dragoman why?"), "why?", true},
		{"another of the names", words("bot: why?"), "why?", true},
		{"talk about it", words("dragoman is slow"), "dragoman is slow", false},
		{"longer name", words("@botanist why?"), "@botanist why?", false},
		{"our command", words("/new"), "/new", true},
		{"another's command", words("/roll 6"), "/roll 6", false},
		{"caption", &waE2E.Message{ImageMessage: &waE2E.ImageMessage{Caption: proto.String("@900 see"), ContextInfo: mention(ownLID)}}, "see", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := whatsapp.Read(from(group, tt.m)).In
			if got.Text != tt.text || got.Addressed != tt.addressed || got.Private || got.Prefix != "Ann B: " {
				t.Errorf("Read = %q, addressed %v, private %v, prefix %q; want %q, %v", got.Text, got.Addressed, got.Private, got.Prefix, tt.text, tt.addressed)
			}
		})
	}
}

// A mention becomes a name. Text that only looks like a mention is kept.
func TestReadMentions(t *testing.T) {
	mentions := &waE2E.ContextInfo{MentionedJID: []string{"777@lid", "15550000009@s.whatsapp.net", "@lid", "1@g.us"}}
	for text, want := range map[string]string{
		"ask @777, or @777 again":  "ask @Bob, or @Bob again",
		"ask @7770 and @778":       "ask @7770 and @778",
		"ask @15550000009":         "ask @15550000009",
		"777 is a number, @1 none": "777 is a number, @1 none",
	} {
		if got := whatsapp.Read(ann(about(text, mentions))).In.Text; got != want {
			t.Errorf("Read(%q) = %q, want %q", text, got, want)
		}
	}
}

// A name with a colon and a line break becomes one line without a colon.
func TestReadNames(t *testing.T) {
	evt := ann(words("hello"))
	evt.Info.PushName = "Bob: hi"
	if got := whatsapp.Read(evt).In.Sender.Name; got != "Bob hi" {
		t.Errorf("sender %q is named %q", evt.Info.PushName, got)
	}
}

func TestReadQuote(t *testing.T) {
	quoting := func(author types.JID) *channels.Quote {
		c := &waE2E.ContextInfo{StanzaID: proto.String("Q"), Participant: proto.String(author.String()), QuotedMessage: &waE2E.Message{ImageMessage: &waE2E.ImageMessage{Caption: proto.String("sea")}}}
		return whatsapp.Read(ann(about("nice", c))).In.Quote
	}
	if diff := cmp.Diff(&channels.Quote{ID: "Q", Name: "800@lid", Text: "sea\n[photo]"}, quoting(annLID)); diff != "" {
		t.Errorf("quote (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&channels.Quote{ID: "Q", Name: "you", Text: "sea\n[photo]"}, quoting(ownPN)); diff != "" {
		t.Errorf("quote of ours (-want +got):\n%s", diff)
	}
}

func TestReadForwarded(t *testing.T) {
	for _, forwarded := range []bool{true, false} {
		c := &waE2E.ContextInfo{IsForwarded: proto.Bool(forwarded)}
		for _, m := range []*waE2E.Message{about("nice", c), {ImageMessage: &waE2E.ImageMessage{ContextInfo: c}}} {
			if got := whatsapp.Read(ann(m)).In.Forwarded; (got != nil) != forwarded {
				t.Errorf("Forwarded = %+v, want %v", got, forwarded)
			}
		}
	}
}

func protocol(kind waE2E.ProtocolMessage_Type, id string, edited *waE2E.Message) *waE2E.Message {
	return &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{Type: kind.Enum(), Key: &waCommon.MessageKey{ID: proto.String(id)}, EditedMessage: edited}}
}

func TestReadChanges(t *testing.T) {
	edit := protocol(waE2E.ProtocolMessage_MESSAGE_EDIT, "M0", words("better"))
	for name, m := range map[string]*waE2E.Message{"bare": edit, "wrapped": {EditedMessage: &waE2E.FutureProofMessage{Message: edit}}} {
		got := whatsapp.Read(ann(m))
		if !got.OK || got.In.Text != "better" || got.In.Edits != "M0" || got.In.MessageID != "M0" {
			t.Errorf("%s edit = %+v", name, got)
		}
	}
	for caption, want := range map[string]string{"new caption": "new caption", "": "[photo]"} {
		photo := &waE2E.Message{ImageMessage: &waE2E.ImageMessage{Caption: proto.String(caption)}}
		got := whatsapp.Read(ann(protocol(waE2E.ProtocolMessage_MESSAGE_EDIT, "M0", photo))).In
		if got.Text != want || got.Edits != "M0" || len(got.Attachments) != 0 {
			t.Errorf("caption changed to %q = %+v, want %q and no file", caption, got, want)
		}
	}
	revoke := protocol(waE2E.ProtocolMessage_REVOKE, "M0", nil)
	if got := whatsapp.Read(ann(revoke)).In; got.Deletes != channels.DeletedBySender || got.Edits != "M0" || got.MessageID != "M0" {
		t.Errorf("a deleted message = %+v", got)
	}
	// A person may write the same text as that of a deleted message.
	if got := whatsapp.Read(ann(words("[this message was deleted by its sender]"))); !got.OK || got.In.Edits != "" {
		t.Errorf("a message with the same text = %+v, want no deletion", got)
	}
}

// The sender of a change is the author of the changed message, also if an admin deleted it.
// Only its text can address the assistant.
func TestReadChangesInGroup(t *testing.T) {
	bobLID := types.NewJID("700", types.HiddenUserServer)
	revoke := protocol(waE2E.ProtocolMessage_REVOKE, "M0", nil)
	revoke.ProtocolMessage.Key.Participant = proto.String(annLID.String())
	edit := protocol(waE2E.ProtocolMessage_MESSAGE_EDIT, "M0", words("better"))
	naming := protocol(waE2E.ProtocolMessage_MESSAGE_EDIT, "M0", words("dragoman: better"))
	const (
		bySender = "[this message was deleted by its sender]"
		byAdmin  = "[this message was deleted by an admin]"
	)
	tests := []struct {
		name   string
		m      *waE2E.Message
		sender types.JID
		kind   types.EditAttribute
		author string
		text   string // "" if it is ignored
		to     bool
		prefix string
	}{
		{"deleted", revoke, annLID, types.EditAttributeSenderRevoke, "800@lid", bySender, false, "Ann B: "},
		{"deleted by an admin", revoke, bobLID, types.EditAttributeAdminRevoke, "800@lid", byAdmin, false, "800@lid: "},
		{"deleted by the owner", revoke, ownLID, types.EditAttributeAdminRevoke, "800@lid", byAdmin, false, "800@lid: "},
		{"deleted by an admin who wrote it", revoke, annLID, types.EditAttributeAdminRevoke, "800@lid", bySender, false, "Ann B: "},
		{"deleted by another who is no admin", revoke, bobLID, types.EditAttributeSenderRevoke, "700@lid", bySender, false, "Ann B: "},
		{"by an admin, of nobody", protocol(waE2E.ProtocolMessage_REVOKE, "M0", nil), bobLID, types.EditAttributeAdminRevoke, "", "", false, ""},
		{"changed", edit, annLID, types.EditAttributeMessageEdit, "800@lid", "better", false, "Ann B: "},
		{"changed by another", edit, bobLID, types.EditAttributeMessageEdit, "700@lid", "better", false, "Ann B: "},
		{"changed to one for us", naming, annLID, types.EditAttributeMessageEdit, "800@lid", "better", true, "Ann B: "},
		{"changed by the owner", edit, ownLID, types.EditAttributeMessageEdit, "", "", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			evt := from(group, tt.m)
			evt.Info.Sender = tt.sender
			evt.Info.Edit = tt.kind
			evt.Info.IsFromMe = tt.sender == ownLID
			if tt.sender != annLID {
				evt.Info.SenderAlt = types.JID{}
			}
			got := whatsapp.Read(evt)
			in := got.In
			if got.OK != (tt.text != "") || in.Text != tt.text || in.Addressed != tt.to || in.Prefix != tt.prefix || got.OK && in.Edits != "M0" {
				t.Errorf("Read = %v %+v, want %q, addressed %v, prefix %q", got.OK, in, tt.text, tt.to, tt.prefix)
			}
			if got.OK && !slices.Contains(in.Sender.IDs, tt.author) {
				t.Errorf("the sender of the change is %v, want %s", in.Sender.IDs, tt.author)
			}
		})
	}
}

// Only the pictures of an album have the id of the album.
func TestReadAlbum(t *testing.T) {
	for want, kind := range map[string]waE2E.MessageAssociation_AssociationType{
		"ALBUM": waE2E.MessageAssociation_MEDIA_ALBUM, "": waE2E.MessageAssociation_HD_IMAGE_DUAL_UPLOAD,
	} {
		got := whatsapp.Read(ann(&waE2E.Message{
			ImageMessage: &waE2E.ImageMessage{Mimetype: proto.String("image/jpeg")},
			MessageContextInfo: &waE2E.MessageContextInfo{MessageAssociation: &waE2E.MessageAssociation{
				AssociationType: kind.Enum(), ParentMessageKey: &waCommon.MessageKey{ID: proto.String("ALBUM")},
			}},
		}))
		if !got.OK || got.In.Album != want || len(got.In.Attachments) != 1 {
			t.Errorf("a picture of %s = %+v, want album %q", kind, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, m := range []*waE2E.Message{words("x"), about("@900", &waE2E.ContextInfo{MentionedJID: []string{"900@lid", "x@@", "1.2.3@lid"}}), protocol(waE2E.ProtocolMessage_MESSAGE_EDIT, "", nil)} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := new(waE2E.Message)
		if proto.Unmarshal(b, m) != nil {
			return
		}
		for _, chat := range []types.JID{annLID, group} {
			if got := whatsapp.Read(from(chat, m)); got.Strange {
				t.Fatalf("quarantined: %v", m)
			}
		}
	})
}

// A reply brings the file of the message that it quotes.
func TestQuoteBringsFiles(t *testing.T) {
	sum := make([]byte, 32)
	path := proto.String("/v/file")
	for kind, quoted := range map[channels.AttachmentKind]*waE2E.Message{
		channels.AttachmentImage:    {ImageMessage: &waE2E.ImageMessage{Caption: proto.String("cat"), DirectPath: path, MediaKey: sum, FileSHA256: sum, FileEncSHA256: sum}},
		channels.AttachmentVoice:    {AudioMessage: &waE2E.AudioMessage{PTT: proto.Bool(true), DirectPath: path, MediaKey: sum, FileSHA256: sum, FileEncSHA256: sum}},
		channels.AttachmentDocument: {DocumentMessage: &waE2E.DocumentMessage{FileName: proto.String("a"), DirectPath: path, MediaKey: sum, FileSHA256: sum, FileEncSHA256: sum}},
		"":                          words("text"),
	} {
		got := whatsapp.Read(ann(about("what is this?", &waE2E.ContextInfo{StanzaID: proto.String("1"), Participant: proto.String("1@s.whatsapp.net"), QuotedMessage: quoted})))
		q := got.In.Quote
		switch {
		case q == nil || (len(q.Attachments) == 1) != (kind != ""):
			t.Errorf("%s: Quote = %+v", kind, q)
		case kind != "" && (q.Attachments[0].Kind != kind || q.Attachments[0].Ref == ""):
			t.Errorf("%s: the quote has %+v", kind, q.Attachments)
		}
	}
}
