package channels

import (
	"fmt"
	"strconv"
	"strings"
)

// IsImage reports whether a is a picture that a vision model can be shown.
func (a Attachment) IsImage() bool {
	return a.Kind == AttachmentImage || strings.HasPrefix(a.Type, "image/")
}

// SizeText formats a number of bytes for people and models: "1.5 MB".
func SizeText(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " bytes"
	case n < 999_500:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return strings.Replace(fmt.Sprintf("%.1f MB", float64(n)/1e6), ".0 ", " ", 1)
}
