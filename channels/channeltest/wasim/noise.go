package wasim

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/socket"
	"go.mau.fi/whatsmeow/util/keys"
	"golang.org/x/crypto/curve25519"
	"google.golang.org/protobuf/proto"
)

// maxFrame is what three bytes of length can say.
const maxFrame = 1 << 24

// readFrame reads one frame: three bytes of length, then so many bytes.
func readFrame(r io.Reader) ([]byte, error) {
	var head [3]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// writeFrame writes a frame with one Write, because the client takes apart
// frames that are spread over several messages of the socket only by chance.
func writeFrame(w io.Writer, data []byte) error {
	if len(data) >= maxFrame {
		return fmt.Errorf("wasim: write frame: %d bytes are too many", len(data))
	}
	frame := make([]byte, 3, 3+len(data))
	frame[0] = byte(len(data) >> 16)
	frame[1] = byte(len(data) >> 8)
	frame[2] = byte(len(data))
	_, err := w.Write(append(frame, data...))
	return err
}

// noise is the symmetric state of a Noise handshake, seen from the responder.
type noise struct {
	hash, salt []byte
	key        cipher.AEAD
	counter    uint32
}

func newAEAD(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(fmt.Sprintf("wasim: make cipher: %v", err)) // the length is ours
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(fmt.Sprintf("wasim: make cipher: %v", err))
	}
	return aead
}

func nonce(counter uint32) []byte {
	n := make([]byte, 12)
	binary.BigEndian.PutUint32(n[8:], counter)
	return n
}

func newNoise() *noise {
	// The pattern's name is exactly as long as a hash and stands for it.
	n := &noise{hash: []byte(socket.NoiseStartPattern)}
	n.salt = n.hash
	n.key = newAEAD(n.hash)
	n.mixHash(socket.WAConnHeader)
	return n
}

func (n *noise) mixHash(data []byte) {
	sum := sha256.Sum256(append(append([]byte(nil), n.hash...), data...))
	n.hash = sum[:]
}

// mixKey goes on with the secret that private and public make together.
func (n *noise) mixKey(private, public []byte) error {
	secret, err := curve25519.X25519(private, public)
	if err != nil {
		return fmt.Errorf("wasim: handshake: %w", err)
	}
	first, second := n.expand(secret)
	n.salt = first
	n.key = newAEAD(second)
	n.counter = 0
	return nil
}

func (n *noise) expand(secret []byte) (first, second []byte) {
	both, err := hkdf.Key(sha256.New, secret, n.salt, "", 64)
	if err != nil {
		panic(fmt.Sprintf("wasim: derive keys: %v", err)) // 64 bytes are always to be had
	}
	return both[:32], both[32:]
}

func (n *noise) seal(plain []byte) []byte {
	sealed := n.key.Seal(nil, nonce(n.counter), plain, n.hash)
	n.counter++
	n.mixHash(sealed)
	return sealed
}

func (n *noise) open(sealed []byte) ([]byte, error) {
	plain, err := n.key.Open(nil, nonce(n.counter), sealed, n.hash)
	if err != nil {
		return nil, fmt.Errorf("wasim: handshake: %w", err)
	}
	n.counter++
	n.mixHash(sealed)
	return plain, nil
}

// greeted is what a finished handshake gives.
type greeted struct {
	read, write cipher.AEAD
	static      [32]byte // the client's noise key, by which the server knows it
	payload     *waWa6.ClientPayload
}

// greet answers the client's handshake.
func (root *authority) greet(rw io.ReadWriter) (*greeted, error) {
	header := make([]byte, len(socket.WAConnHeader))
	if _, err := io.ReadFull(rw, header); err != nil {
		return nil, fmt.Errorf("wasim: handshake: read header: %w", err)
	}
	if string(header) != string(socket.WAConnHeader) {
		return nil, fmt.Errorf("wasim: handshake: header is %x", header)
	}
	var hello waWa6.HandshakeMessage
	if err := readMessage(rw, &hello); err != nil {
		return nil, err
	}
	theirs := hello.GetClientHello().GetEphemeral()
	if len(theirs) != 32 {
		return nil, errors.New("wasim: handshake: hello without key")
	}
	n, ours := newNoise(), keys.NewKeyPair()
	n.mixHash(theirs)
	n.mixHash(ours.Pub[:])
	if err := n.mixKey(ours.Priv[:], theirs); err != nil {
		return nil, err
	}
	static := n.seal(root.static.Pub[:])
	if err := n.mixKey(root.static.Priv[:], theirs); err != nil {
		return nil, err
	}
	answer, err := proto.Marshal(&waWa6.HandshakeMessage{ServerHello: &waWa6.HandshakeMessage_ServerHello{
		Ephemeral: ours.Pub[:], Static: static, Payload: n.seal(root.chain),
	}})
	if err != nil {
		return nil, fmt.Errorf("wasim: handshake: %w", err)
	}
	if err := writeFrame(rw, answer); err != nil {
		return nil, fmt.Errorf("wasim: handshake: %w", err)
	}
	return finish(rw, n, ours)
}

// finish reads who the client is and splits the keys.
func finish(rw io.ReadWriter, n *noise, ours *keys.KeyPair) (*greeted, error) {
	var last waWa6.HandshakeMessage
	if err := readMessage(rw, &last); err != nil {
		return nil, err
	}
	static, err := n.open(last.GetClientFinish().GetStatic())
	if err != nil {
		return nil, err
	}
	if err := n.mixKey(ours.Priv[:], static); err != nil {
		return nil, err
	}
	plain, err := n.open(last.GetClientFinish().GetPayload())
	if err != nil {
		return nil, err
	}
	g := &greeted{static: [32]byte(static), payload: &waWa6.ClientPayload{}}
	if err := proto.Unmarshal(plain, g.payload); err != nil {
		return nil, fmt.Errorf("wasim: handshake: read payload: %w", err)
	}
	toServer, toClient := n.expand(nil)
	g.read, g.write = newAEAD(toServer), newAEAD(toClient)
	return g, nil
}

func readMessage(r io.Reader, m proto.Message) error {
	frame, err := readFrame(r)
	if err != nil {
		return fmt.Errorf("wasim: handshake: %w", err)
	}
	if err := proto.Unmarshal(frame, m); err != nil {
		return fmt.Errorf("wasim: handshake: %w", err)
	}
	return nil
}
