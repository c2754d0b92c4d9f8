package wasim

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/util/cbcutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"
)

// Kind is what an attachment is.
type Kind string

// The kinds of attachments. A voice note is one that was spoken into the
// phone.
const (
	Image    Kind = "image"
	Video    Kind = "video"
	Audio    Kind = "audio"
	Voice    Kind = "ptt"
	Document Kind = "document"
	Sticker  Kind = "sticker"
)

// Media is an attachment, in the clear.
type Media struct {
	Kind Kind
	Mime string
	Name string // of a document
	// Seconds is how long a recording is, as its sender says.
	Seconds uint32
	Data    []byte
	// Claim is the size that the message says, if it is not the real one.
	Claim uint64
	// Forged makes the message name the hash of another file.
	Forged bool
}

const (
	mediaHost = "media.whatsapp.net"
	mediaPath = "/v/"
	mediaMax  = 128 << 20
)

// purposes are what keys are derived for.
var purposes = map[Kind]whatsmeow.MediaType{
	Image: whatsmeow.MediaImage, Video: whatsmeow.MediaVideo, Audio: whatsmeow.MediaAudio,
	Voice: whatsmeow.MediaAudio, Document: whatsmeow.MediaDocument, Sticker: whatsmeow.MediaImage,
}

func mediaHosts(*Server, *conn, *waBinary.Node) ([]waBinary.Node, int) {
	return []waBinary.Node{{
		Tag:     "media_conn",
		Attrs:   waBinary.Attrs{"auth": "simulated", "ttl": 3600, "auth_ttl": 3600, "max_buckets": 12},
		Content: []waBinary.Node{{Tag: "host", Attrs: waBinary.Attrs{"hostname": mediaHost}}},
	}}, 0
}

// serveMedia keeps what is uploaded and hands it out. Both are encrypted.
func (s *Server) serveMedia(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	failed, code := s.Faults.failsMedia(), s.Faults.mediaCode
	spoil := s.Faults.spoil
	s.notify()
	s.mu.Unlock()
	token := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch {
	case failed:
		http.Error(w, "simulated", code)
	case r.Method == http.MethodPost:
		s.upload(w, r, token)
	case r.Method == http.MethodGet:
		s.mu.Lock()
		data, ok := s.blobs[token]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		spoil.serve(w, data)
	default:
		http.Error(w, "no", http.StatusMethodNotAllowed)
	}
}

// Spoil is what happens to files on their way to a device.
type Spoil string

// The kinds of spoiled downloads.
const (
	Intact  Spoil = ""
	Cut     Spoil = "cut"     // the connection ends in the middle
	Short   Spoil = "short"   // the middle is taken for the end
	Flipped Spoil = "flipped" // one bit is another
)

func (k Spoil) serve(w http.ResponseWriter, data []byte) {
	switch k {
	case Cut:
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data[:len(data)/2])
		panic(http.ErrAbortHandler) // ends the connection without a word
	case Short:
		data = data[:len(data)/2]
	case Flipped:
		data = bytes.Clone(data)
		data[len(data)/2] ^= 1
	}
	_, _ = w.Write(data)
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request, token string) {
	data, err := io.ReadAll(io.LimitReader(r.Body, mediaMax+1))
	switch {
	case err != nil:
		http.Error(w, "cut off", http.StatusBadRequest)
		return
	case len(data) > mediaMax:
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	case token != blobName(data) || r.URL.Query().Get("auth") != "simulated":
		http.Error(w, "not what was announced", http.StatusForbidden)
		return
	}
	s.mu.Lock()
	path := s.keep(data)
	s.counts["upload"]++
	s.notify()
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]string{"url": "https://" + mediaHost + path, "direct_path": path})
}

// keep stores an encrypted file and returns its path. The question mark has to
// be there: clients add to the query.
func (s *Server) keep(data []byte) string {
	name := blobName(data)
	s.blobs[name] = data
	return mediaPath + name + "?ccb=1"
}

func blobName(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.URLEncoding.EncodeToString(sum[:])
}

// mediaKeys are derived from the key in the message.
func mediaKeys(key []byte, kind Kind) (iv, cipher, mac []byte) {
	all := hkdfutil.SHA256(key, nil, []byte(purposes[kind]), 112)
	return all[:16], all[16:48], all[48:80]
}

// attach encrypts and uploads an attachment as a phone does, and makes the
// message for it.
func (s *Server) attach(n Note, info *waE2E.ContextInfo) *waE2E.Message {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	iv, cipher, mac := mediaKeys(key, n.Media.Kind)
	sealed, err := cbcutil.Encrypt(cipher, iv, bytes.Clone(n.Media.Data))
	if err != nil {
		panic(fmt.Sprintf("wasim: encrypt attachment: %v", err))
	}
	h := hmac.New(sha256.New, mac)
	h.Write(iv)
	h.Write(sealed)
	sealed = append(sealed, h.Sum(nil)[:10]...)
	path := s.keep(sealed)
	url := "https://" + mediaHost + path
	plainSum, sealedSum := sha256.Sum256(n.Media.Data), sha256.Sum256(sealed)
	if n.Media.Forged {
		plainSum[0] ^= 1
	}
	size := uint64(len(n.Media.Data))
	if n.Media.Claim != 0 {
		size = n.Media.Claim
	}
	m, caption := n.Media, proto.String(n.Text)
	switch m.Kind {
	case Image:
		return &waE2E.Message{ImageMessage: &waE2E.ImageMessage{
			URL: &url, DirectPath: &path, MediaKey: key, FileSHA256: plainSum[:], FileEncSHA256: sealedSum[:], FileLength: &size,
			Mimetype: &m.Mime, Caption: caption, ContextInfo: info,
		}}
	case Video:
		return &waE2E.Message{VideoMessage: &waE2E.VideoMessage{
			URL: &url, DirectPath: &path, MediaKey: key, FileSHA256: plainSum[:], FileEncSHA256: sealedSum[:], FileLength: &size,
			Mimetype: &m.Mime, Caption: caption, ContextInfo: info,
		}}
	case Audio, Voice:
		return &waE2E.Message{AudioMessage: &waE2E.AudioMessage{
			URL: &url, DirectPath: &path, MediaKey: key, FileSHA256: plainSum[:], FileEncSHA256: sealedSum[:], FileLength: &size,
			Mimetype: &m.Mime, PTT: proto.Bool(m.Kind == Voice), Seconds: &m.Seconds, ContextInfo: info,
		}}
	case Sticker:
		return &waE2E.Message{StickerMessage: &waE2E.StickerMessage{
			URL: &url, DirectPath: &path, MediaKey: key, FileSHA256: plainSum[:], FileEncSHA256: sealedSum[:], FileLength: &size,
			Mimetype: &m.Mime, ContextInfo: info,
		}}
	case Document:
		document := &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
			URL: &url, DirectPath: &path, MediaKey: key, FileSHA256: plainSum[:], FileEncSHA256: sealedSum[:], FileLength: &size,
			Mimetype: &m.Mime, FileName: &m.Name, Title: &m.Name, Caption: caption, ContextInfo: info,
		}}
		if n.Text != "" {
			return &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: document}}
		}
		return document
	}
	panic(fmt.Sprintf("wasim: unknown kind of attachment %q", m.Kind))
}

// sealedMedia is what all messages with attachments have.
type sealedMedia interface {
	GetDirectPath() string
	GetMediaKey() []byte
	GetFileSHA256() []byte
	GetFileEncSHA256() []byte
	GetFileLength() uint64
	GetMimetype() string
}

// fetch gets the attachment of a message that a device wrote, nil if it has
// none or it cannot be had.
func (s *Server) fetch(message *waE2E.Message) *Media {
	var sealed sealedMedia
	m := &Media{}
	switch {
	case message.GetImageMessage() != nil:
		m.Kind, sealed = Image, message.GetImageMessage()
	case message.GetVideoMessage() != nil:
		m.Kind, sealed = Video, message.GetVideoMessage()
	case message.GetAudioMessage() != nil:
		m.Kind, sealed = Audio, message.GetAudioMessage()
		m.Seconds = message.GetAudioMessage().GetSeconds()
		if message.GetAudioMessage().GetPTT() {
			m.Kind = Voice
		}
	case message.GetDocumentMessage() != nil:
		m.Kind = Document
		sealed = message.GetDocumentMessage()
		m.Name = message.GetDocumentMessage().GetFileName()
	default:
		return nil
	}
	m.Mime = sealed.GetMimetype()
	var err error
	if m.Data, err = s.unseal(sealed, m.Kind); err != nil {
		s.options.Logf("wasim: fetch attachment: %v", err)
		return nil
	}
	return m
}

// unseal checks everything that a phone checks.
func (s *Server) unseal(m sealedMedia, kind Kind) ([]byte, error) {
	path, _, _ := strings.Cut(m.GetDirectPath(), "?")
	data := s.blobs[strings.TrimPrefix(path, mediaPath)]
	sum := sha256.Sum256(data)
	if len(data) < 10 || !bytes.Equal(sum[:], m.GetFileEncSHA256()) {
		return nil, errors.New("it is not there, or another")
	}
	iv, cipher, mac := mediaKeys(m.GetMediaKey(), kind)
	sealed, tag := bytes.Clone(data[:len(data)-10]), data[len(data)-10:]
	h := hmac.New(sha256.New, mac)
	h.Write(iv)
	h.Write(sealed)
	if !hmac.Equal(h.Sum(nil)[:10], tag) {
		return nil, errors.New("its signature is wrong")
	}
	plain, err := cbcutil.Decrypt(cipher, iv, sealed)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(plain); !bytes.Equal(sum[:], m.GetFileSHA256()) || uint64(len(plain)) != m.GetFileLength() {
		return nil, errors.New("it is not what the message says")
	}
	return plain, nil
}
