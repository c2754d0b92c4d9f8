//go:build !nowhatsapp

package whatsapp

import (
	"cmp"
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
	"time"

	"dragoman/channels"
	"dragoman/channels/markup"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/socket"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"
)

// reference is what is needed to download and decrypt a file. Its JSON is the Ref of an
// attachment. It contains the file's key.
type reference struct {
	Path      string              `json:"p"`
	Key       []byte              `json:"k"`
	Hash      []byte              `json:"h"` // SHA-256 of the file
	SealedSum []byte              `json:"s"` // SHA-256 of the encrypted file
	Type      whatsmeow.MediaType `json:"t"`
}

// downloadable is any of whatsmeow's messages with a file: picture, video, audio,
// document or sticker.
type downloadable interface {
	whatsmeow.DownloadableMessage
	GetMimetype() string
	GetFileLength() uint64
}

func attach(kind channels.AttachmentKind, name string, f downloadable) channels.Attachment {
	a := channels.Attachment{
		Kind: kind, Name: markup.Clip(name, 255), Type: markup.Clip(markup.Line(f.GetMimetype()), 127),
		Bytes: int64(min(f.GetFileLength(), math.MaxInt64)),
	}
	ref := reference{f.GetDirectPath(), f.GetMediaKey(), f.GetFileSHA256(), f.GetFileEncSHA256(), whatsmeow.GetMediaType(f)}
	b, err := json.Marshal(ref)
	if err != nil || !ref.usable() {
		a.Missing = "WhatsApp does not say where it is"
		return a
	}
	a.Ref = string(b)
	return a
}

func (r reference) usable() bool {
	return strings.HasPrefix(r.Path, "/") && len(r.Key) == 32 && len(r.Hash) == sha256.Size && len(r.SealedSum) == sha256.Size && r.Type != ""
}

// mediaHost is the server of all files. Only the path comes from the sender, so nobody can
// make us connect to another server.
const mediaHost = "https://mmg.whatsapp.net"

// Fetch downloads and decrypts the file of a message. It works without Run. It keeps only
// a small part of the file in memory, so a message that gives a wrong size does no harm.
func (c *Channel) Fetch(ctx context.Context, a channels.Attachment, w io.Writer) error {
	var ref reference
	if err := json.Unmarshal([]byte(a.Ref), &ref); err != nil || !ref.usable() {
		return fmt.Errorf("whatsapp: fetch a file: it has no reference of ours: %w", channels.ErrPermanent)
	}
	wire := c.newWire()
	defer wire.cut()
	body, err := requestFile(ctx, wire.Client, ref)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	return decryptFile(ref, body, w)
}

func requestFile(ctx context.Context, client *http.Client, ref reference) (io.ReadCloser, error) {
	sign := "?"
	if strings.Contains(ref.Path, sign) {
		sign = "&"
	}
	address := mediaHost + ref.Path + sign + "hash=" + base64.URLEncoding.EncodeToString(ref.SealedSum) + "&mms-type=" + mmsType[ref.Type] + "&__wa-mms="
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
			err = withURL.Err // The address must not be logged.
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
	macBytes   = 10       // the signature at the end of an encrypted file
	chunkBytes = 64 << 10 // read at once
)

// decrypter decrypts a file while it is downloaded. It keeps the last bytes back, because
// the padding and the signature are at the end.
type decrypter struct {
	ref     reference
	w       io.Writer
	decrypt cipher.BlockMode
	mac     hash.Hash // of the encrypted file, without its signature
	sealed  hash.Hash // of the encrypted file
	plain   hash.Hash
	pending []byte // read and not decrypted yet
}

// decryptFile decrypts body into w and checks both hashes and the signature.
func decryptFile(ref reference, body io.Reader, w io.Writer) error {
	keys := hkdfutil.SHA256(ref.Key, nil, []byte(ref.Type), 112)
	block, err := aes.NewCipher(keys[16:48])
	if err != nil {
		return fmt.Errorf("whatsapp: fetch a file: %w", err)
	}
	u := &decrypter{
		ref: ref, w: w, decrypt: cipher.NewCBCDecrypter(block, keys[:16]),
		mac: hmac.New(sha256.New, keys[48:80]), sealed: sha256.New(), plain: sha256.New(),
	}
	u.mac.Write(keys[:16])
	page := make([]byte, chunkBytes)
	for {
		n, err := body.Read(page)
		u.sealed.Write(page[:n])
		u.pending = append(u.pending, page[:n]...)
		if whole := (len(u.pending) - macBytes - aes.BlockSize) / aes.BlockSize * aes.BlockSize; whole > 0 {
			if err := u.decryptBlocks(whole, 0); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return u.finish()
		}
		if err != nil {
			return fmt.Errorf("whatsapp: fetch a file: the download was interrupted: %w", err)
		}
	}
}

// decryptBlocks decrypts the first n pending bytes and writes them to w, without the last
// padding bytes. If padding is negative, the last byte says how many those are.
func (u *decrypter) decryptBlocks(n, padding int) error {
	u.mac.Write(u.pending[:n])
	u.decrypt.CryptBlocks(u.pending[:n], u.pending[:n])
	if padding < 0 {
		padding = int(u.pending[n-1])
		if padding == 0 || padding > aes.BlockSize {
			return u.damaged("it is not encrypted with its key")
		}
	}
	u.plain.Write(u.pending[:n-padding])
	if _, err := u.w.Write(u.pending[:n-padding]); err != nil {
		return err // unchanged, as Fetcher demands
	}
	u.pending = append(u.pending[:0], u.pending[n:]...)
	return nil
}

// finish writes the end of the file and checks the signature and the hashes.
func (u *decrypter) finish() error {
	if string(u.sealed.Sum(nil)) != string(u.ref.SealedSum) {
		return errors.New("whatsapp: fetch a file: the download is not the file that was sent")
	}
	n := len(u.pending) - macBytes
	if n != aes.BlockSize { // decryptFile leaves one block, because there is always padding
		return u.damaged("it is cut off")
	}
	seal := string(u.pending[n:])
	if err := u.decryptBlocks(n, -1); err != nil {
		return err
	}
	if !hmac.Equal(u.mac.Sum(nil)[:macBytes], []byte(seal)) {
		return u.damaged("its signature is wrong")
	}
	if string(u.plain.Sum(nil)) != string(u.ref.Hash) {
		return u.damaged("it is not the file that the message names")
	}
	return nil
}

// damaged is the error of a file that was downloaded completely but does not match its
// message. It never will.
func (u *decrypter) damaged(why string) error {
	return &channels.Gone{Why: "the file is damaged", Err: errors.New("whatsapp: fetch a file: " + why)}
}

const uploadTimeout = 30 * time.Second

var _ channels.Filer = (*Channel)(nil)

// SendsFiles implements [channels.Filer].
func (c *Channel) SendsFiles() {}

// upload encrypts f, stores it on WhatsApp's servers and returns the message that refers
// to it. It returns nil if f is nil. Each attempt uploads it again.
func (k *connection) upload(ctx context.Context, f *channels.File) (*waE2E.Message, error) {
	if f == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	up, err := k.client.Upload(ctx, []byte(f.Content), purposeOf(f))
	if err != nil {
		return nil, err
	}
	return fileMessage(f, up), nil
}

// purposeOf is what the key of a file is made for.
func purposeOf(f *channels.File) whatsmeow.MediaType {
	switch shownAs(f) {
	case channels.AttachmentImage:
		return whatsmeow.MediaImage
	case channels.AttachmentVoice, channels.AttachmentAudio:
		return whatsmeow.MediaAudio
	}
	return whatsmeow.MediaDocument
}

// shownAs is what phones show f as. They show no other pictures than these two.
func shownAs(f *channels.File) channels.AttachmentKind {
	if f.Kind == channels.AttachmentImage && f.Type != "image/jpeg" && f.Type != "image/png" {
		return channels.AttachmentDocument
	}
	return f.Kind
}

// opusType is how phones name what they record. Without the codec they do not play it.
const opusType = "audio/ogg; codecs=opus"

// fileMessage is the message for a file that was uploaded.
func fileMessage(f *channels.File, up whatsmeow.UploadResponse) *waE2E.Message {
	mime := cmp.Or(f.Type, "text/markdown")
	switch kind := shownAs(f); kind {
	case channels.AttachmentImage:
		return &waE2E.Message{ImageMessage: &waE2E.ImageMessage{
			Mimetype: &mime, URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey,
			FileEncSHA256: up.FileEncSHA256, FileSHA256: up.FileSHA256, FileLength: &up.FileLength,
		}}
	case channels.AttachmentVoice, channels.AttachmentAudio:
		if mime == "audio/ogg" {
			mime = opusType
		}
		return &waE2E.Message{AudioMessage: &waE2E.AudioMessage{
			PTT: proto.Bool(kind == channels.AttachmentVoice), Seconds: proto.Uint32(uint32(f.Seconds)),
			Mimetype: &mime, URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey,
			FileEncSHA256: up.FileEncSHA256, FileSHA256: up.FileSHA256, FileLength: &up.FileLength,
		}}
	}
	return &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
		FileName: &f.Name, Title: &f.Name, Mimetype: &mime,
		URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey,
		FileEncSHA256: up.FileEncSHA256, FileSHA256: up.FileSHA256, FileLength: &up.FileLength,
	}}
}

// withFile returns file with the text of m as its caption, and with what m is about. A nil
// file is none, and sound has no caption.
func withFile(m, file *waE2E.Message) *waE2E.Message {
	if file == nil {
		return m
	}
	caption := proto.String(m.GetConversation())
	var about *waE2E.ContextInfo
	if e := m.GetExtendedTextMessage(); e != nil {
		caption = e.Text
		about = e.ContextInfo
	}
	switch {
	case file.ImageMessage != nil:
		file.ImageMessage.Caption = caption
		file.ImageMessage.ContextInfo = about
	case file.AudioMessage != nil:
		file.AudioMessage.ContextInfo = about
	default:
		file.DocumentMessage.Caption = caption
		file.DocumentMessage.ContextInfo = about
	}
	return file
}
