package channels

// Origin says whose words something is that a model is shown. Package sessions lists them.
type Origin string

// OriginFile is a file that anybody may have written.
const OriginFile Origin = "file"
