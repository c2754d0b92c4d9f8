package wasim

import (
	"fmt"
	"sync"
	"time"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCert"
	"go.mau.fi/whatsmeow/util/keys"
	"google.golang.org/protobuf/proto"
)

// authority is the root that vouches for every server of this process. One is
// enough, and only one can be trusted at a time, because the client keeps the
// root's key in a variable of its package.
type authority struct {
	root, static *keys.KeyPair
	chain        []byte // the certificates, as the handshake carries them
}

var theAuthority = sync.OnceValue(newAuthority)

// RootKey is the public key that clients of this process's servers must trust.
// Another process hands it to [TrustRoot].
func RootKey() [32]byte { return *theAuthority().root.Pub }

var trusting sync.Mutex

// TrustRoot makes every client of this process take servers under key for
// WhatsApp. Call it before the first client connects: the client reads the
// variable without a lock.
func TrustRoot(key [32]byte) {
	trusting.Lock()
	defer trusting.Unlock()
	if whatsmeow.WACertPubKey != key {
		whatsmeow.WACertPubKey = key
	}
}

// trustOwn is TrustRoot for the servers of this process.
var trustOwn = sync.OnceFunc(func() { TrustRoot(RootKey()) })

func newAuthority() *authority {
	a := &authority{root: keys.NewKeyPair(), static: keys.NewKeyPair()}
	middle := keys.NewKeyPair()
	var err error
	a.chain, err = proto.Marshal(&waCert.CertChain{
		Intermediate: certificate(a.root, middle, whatsmeow.WACertIssuerSerial, 1),
		Leaf:         certificate(middle, a.static, 1, 2),
	})
	if err != nil {
		panic(fmt.Sprintf("wasim: make certificates: %v", err))
	}
	return a
}

// certificate is issuer's word that subject's key is good now.
func certificate(issuer, subject *keys.KeyPair, issuerSerial, serial uint32) *waCert.CertChain_NoiseCertificate {
	now := time.Now()
	details, err := proto.Marshal(&waCert.CertChain_NoiseCertificate_Details{
		Serial: &serial, IssuerSerial: &issuerSerial, Key: subject.Pub[:],
		NotBefore: proto.Uint64(uint64(now.AddDate(0, 0, -1).Unix())),
		NotAfter:  proto.Uint64(uint64(now.AddDate(1, 0, 0).Unix())),
	})
	if err != nil {
		panic(fmt.Sprintf("wasim: make certificate: %v", err))
	}
	return &waCert.CertChain_NoiseCertificate{Details: details, Signature: sign(issuer, details)}
}

func sign(key *keys.KeyPair, message []byte) []byte {
	signature := ecc.CalculateSignature(ecc.NewDjbECPrivateKey(*key.Priv), message)
	return signature[:]
}
