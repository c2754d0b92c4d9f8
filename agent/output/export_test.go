package output

// Marks returns the texts of all marks.
func Marks() (list []string) {
	for _, m := range marks {
		list = append(list, m.text)
	}
	return list
}
