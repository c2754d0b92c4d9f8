package documents

// How large a sheet can be. What repeats is cut where the text is.
const (
	mostRows    = 1_048_576
	mostColumns = 16_384
)
