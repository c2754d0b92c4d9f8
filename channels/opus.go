package channels

import (
	"encoding/binary"
	"strings"
)

// opusRate is what positions in Ogg Opus count: samples a second, whatever was recorded.
const opusRate = 48000

// oggPage is the length of a page's header without its table of segments.
const oggPage = 27

// OpusSeconds is how long a recording in Ogg Opus is, rounded up; false if file is none. It
// looks at the first page and at the last one.
//
// Source: RFC 7845, RFC 3533.
func OpusSeconds(file string) (seconds int, is bool) {
	head := "OpusHead"
	at := oggPage + 1 // the first page has one segment
	if !strings.HasPrefix(file, "OggS") || len(file) < at+19 || file[26] != 1 || file[at:at+len(head)] != head {
		return 0, false
	}
	skipped := int64(binary.LittleEndian.Uint16([]byte(file[at+10 : at+12])))
	last := strings.LastIndex(file, "OggS")
	if len(file) < last+oggPage {
		return 0, false
	}
	end := int64(binary.LittleEndian.Uint64([]byte(file[last+6 : last+14])))
	if end < 0 || end > opusRate*24*60*60 {
		return 0, false // no packet ends on the page, or it is damaged
	}
	return int((max(end-skipped, 0) + opusRate - 1) / opusRate), true
}
