package whatsapp

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"

	"dragoman/channels"
	"dragoman/channels/markup"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/socket"
	"go.mau.fi/whatsmeow/util/hkdfutil"
)

// reference is what a file can be fetched with, and is what an attachment's Ref
// holds as JSON. It has the file's key in it.
type reference struct {
	Path      string              `json:"p"`
	Key       []byte              `json:"k"`
	Hash      []byte              `json:"h"` // of the file
	SealedSum []byte              `json:"s"` // of what the server keeps
	Type      whatsmeow.MediaType `json:"t"`
}

// file is what all messages with a file have.
type file interface {
	whatsmeow.DownloadableMessage
	GetMimetype() string
	GetFileLength() uint64
}

// attach describes the file of a message.
func attach(kind channels.AttachmentKind, name string, f file) channels.Attachment {
	a := channels.Attachment{
		Kind: kind, Name: markup.Clip(name, 255), Type: markup.Clip(markup.Line(f.GetMimetype()), 127),
		Bytes: int64(min(f.GetFileLength(), math.MaxInt64)),
	}
	ref := reference{f.GetDirectPath(), f.GetMediaKey(), f.GetFileSHA256(), f.GetFileEncSHA256(), whatsmeow.GetMediaType(f)}
	if !ref.usable() {
		a.Missing = "WhatsApp does not say where it is"
		return a
	}
	b, err := json.Marshal(ref)
	if err != nil {
		a.Missing = "WhatsApp does not say where it is" // strings and bytes can always be written
		return a
	}
	a.Ref = string(b)
	return a
}

func (r reference) usable() bool {
	return strings.HasPrefix(r.Path, "/") && len(r.Key) == 32 && len(r.Hash) == sha256.Size && len(r.SealedSum) == sha256.Size && r.Type != ""
}

// mediaHost has every file. The path comes from the sender and the host does
// not, so nobody can send us elsewhere.
const mediaHost = "https://mmg.whatsapp.net"

// Fetch downloads and decrypts the file of a message. It needs no connection,
// only the network, and holds a few pages of the file at a time, so that a
// message that lies about its size costs nothing but what w takes.
func (c *Channel) Fetch(ctx context.Context, a channels.Attachment, w io.Writer) error {
	var ref reference
	if err := json.Unmarshal([]byte(a.Ref), &ref); err != nil || !ref.usable() {
		return fmt.Errorf("whatsapp: fetch a file: it has no reference of ours: %w", channels.ErrPermanent)
	}
	wire := c.newWire()
	defer wire.cut()
	body, err := askForFile(ctx, wire.Client, ref)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	return unseal(ref, body, w)
}

func askForFile(ctx context.Context, client *http.Client, ref reference) (io.ReadCloser, error) {
	address := mediaHost + ref.Path
	if strings.Contains(address, "?") {
		address += "&"
	} else {
		address += "?"
	}
	address += "hash=" + base64.URLEncoding.EncodeToString(ref.SealedSum) + "&mms-type=" + mmsType[ref.Type] + "&__wa-mms="
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("whatsapp: fetch a file: its path is not valid: %w", channels.ErrPermanent)
	}
	r.Header.Set("Origin", socket.Origin)
	r.Header.Set("Referer", socket.Origin+"/")
	r.Header.Set("Accept-Encoding", "identity")
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := own.Do(r)
	if err != nil {
		if withURL := (*url.Error)(nil); errors.As(err, &withURL) {
			err = withURL.Err // the address says where the file is
		}
		return nil, fmt.Errorf("whatsapp: fetch a file: %w", err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	_ = answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("whatsapp: fetch a file: WhatsApp no longer has it (%d): %w", answer.StatusCode, channels.ErrPermanent)
	}
	return nil, fmt.Errorf("whatsapp: fetch a file: WhatsApp answered %d", answer.StatusCode)
}

var mmsType = map[whatsmeow.MediaType]string{
	whatsmeow.MediaImage: "image", whatsmeow.MediaVideo: "video", whatsmeow.MediaAudio: "audio", whatsmeow.MediaDocument: "document",
}

const (
	sealBytes = 10       // the end of a sealed file: its signature
	pageBytes = 64 << 10 // how much is decrypted at once
)

// unsealer decrypts a file as it comes in. It keeps back the end, which is only
// known for what it is, and only believed, once everything is there.
type unsealer struct {
	ref     reference
	w       io.Writer
	decrypt cipher.BlockMode
	mac     hash.Hash // of what was encrypted
	sealed  hash.Hash // of everything the server has
	plain   hash.Hash
	kept    []byte // was read and is not decrypted yet
}

// unseal decrypts all of body into w and checks what WhatsApp gives to check.
func unseal(ref reference, body io.Reader, w io.Writer) error {
	keys := hkdfutil.SHA256(ref.Key, nil, []byte(ref.Type), 112)
	block, err := aes.NewCipher(keys[16:48])
	if err != nil {
		return fmt.Errorf("whatsapp: fetch a file: %w", err)
	}
	u := &unsealer{
		ref: ref, w: w, decrypt: cipher.NewCBCDecrypter(block, keys[:16]),
		mac: hmac.New(sha256.New, keys[48:80]), sealed: sha256.New(), plain: sha256.New(),
	}
	u.mac.Write(keys[:16])
	page := make([]byte, pageBytes)
	for {
		n, err := body.Read(page)
		u.sealed.Write(page[:n])
		u.kept = append(u.kept, page[:n]...)
		if whole := (len(u.kept) - sealBytes - aes.BlockSize) / aes.BlockSize * aes.BlockSize; whole > 0 {
			if err := u.pass(whole, 0); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return u.finish()
		}
		if err != nil {
			return fmt.Errorf("whatsapp: fetch a file: the download broke off: %w", err)
		}
	}
}

// pass decrypts the first n bytes that were kept and hands them on, without the
// last few, which are padding.
func (u *unsealer) pass(n, padding int) error {
	u.mac.Write(u.kept[:n])
	u.decrypt.CryptBlocks(u.kept[:n], u.kept[:n])
	if padding < 0 {
		padding = int(u.kept[n-1])
		if padding == 0 || padding > aes.BlockSize {
			return u.lies("it is not encrypted with its key")
		}
	}
	u.plain.Write(u.kept[:n-padding])
	if _, err := u.w.Write(u.kept[:n-padding]); err != nil {
		return err // the caller's own, as it is
	}
	u.kept = append(u.kept[:0], u.kept[n:]...)
	return nil
}

// finish checks the hashes and hands on the end.
func (u *unsealer) finish() error {
	if string(u.sealed.Sum(nil)) != string(u.ref.SealedSum) {
		return errors.New("whatsapp: fetch a file: the download is not the file that was sent")
	}
	n := len(u.kept) - sealBytes
	if n != aes.BlockSize { // pass leaves one block, and there is always padding
		return u.lies("it is cut off")
	}
	seal := string(u.kept[n:])
	if err := u.pass(n, -1); err != nil {
		return err
	}
	if !hmac.Equal(u.mac.Sum(nil)[:sealBytes], []byte(seal)) {
		return u.lies("its signature is wrong")
	}
	if string(u.plain.Sum(nil)) != string(u.ref.Hash) {
		return u.lies("it is not the file that the message names")
	}
	return nil
}

// lies is the error of a file that came whole and is not what the message says:
// it never will be.
func (u *unsealer) lies(why string) error {
	return &channels.Gone{Why: "the file is damaged", Err: errors.New("whatsapp: fetch a file: " + why)}
}
