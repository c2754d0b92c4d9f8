package channels_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"dragoman/channels"
)

// opusOf is an Ogg Opus file of as many samples, without sound.
func opusOf(skip uint16, end int64) string {
	page := func(position int64, packet string) string {
		head := append([]byte("OggS\x00\x02"), binary.LittleEndian.AppendUint64(nil, uint64(position))...)
		head = append(head, make([]byte, 12)...)
		return string(append(head, 1, byte(len(packet)))) + packet
	}
	head := "OpusHead\x01\x01" + string(binary.LittleEndian.AppendUint16(nil, skip)) + "\x80\xbb\x00\x00\x00\x00\x00"
	return page(0, head) + page(0, "OpusTags") + page(end, "sound")
}

func TestOpusSeconds(t *testing.T) {
	for name, tt := range map[string]struct {
		file    string
		seconds int
		is      bool
	}{
		"two and a half seconds": {opusOf(312, 312+120_000), 3, true},
		"exactly one":            {opusOf(0, 48_000), 1, true},
		"nothing but the skip":   {opusOf(312, 100), 0, true},
		"no position":            {opusOf(0, -1), 0, false},
		"a year":                 {opusOf(0, 1<<50), 0, false},
		"cut off":                {opusOf(0, 48_000)[:40], 0, false},
		"vorbis":                 {strings.Replace(opusOf(0, 48_000), "OpusHead", "\x01vorbis!", 1), 0, false},
		"mp3":                    {"ID3\x04 and so on, a good bit longer than a head", 0, false},
		"empty":                  {"", 0, false},
	} {
		if seconds, is := channels.OpusSeconds(tt.file); seconds != tt.seconds || is != tt.is {
			t.Errorf("%s: OpusSeconds = %d, %v, want %d, %v", name, seconds, is, tt.seconds, tt.is)
		}
	}
}

func FuzzOpusSeconds(f *testing.F) {
	f.Add(opusOf(312, 120_000))
	f.Add("OggS")
	f.Fuzz(func(t *testing.T, file string) {
		if seconds, is := channels.OpusSeconds(file); seconds < 0 || seconds > 24*60*60 || !is && seconds != 0 {
			t.Errorf("OpusSeconds = %d, %v", seconds, is)
		}
	})
}
