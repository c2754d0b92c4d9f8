package channels

// Origin says whose words something is that a model is shown. Package sessions lists them.
type Origin string
