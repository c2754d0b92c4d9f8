package main

import "strings"

// mostCompared bounds the memory of a comparison: of more, all is shown as other.
const mostCompared = 4 << 20

// difference returns what changed between two texts, in order: lines that were taken away with
// "-", lines that came with "+". A comma at the end of a line of JSON says nothing.
func difference(before, now []string) (changes []string) {
	for len(before) > 0 && len(now) > 0 && sameLine(before[0], now[0]) {
		before = before[1:]
		now = now[1:]
	}
	for len(before) > 0 && len(now) > 0 && sameLine(before[len(before)-1], now[len(now)-1]) {
		before = before[:len(before)-1]
		now = now[:len(now)-1]
	}
	common := longestCommon(before, now)
	i, j := 0, 0
	for i < len(before) || j < len(now) {
		switch {
		case common != nil && i < len(before) && j < len(now) && sameLine(before[i], now[j]):
			i++
			j++
		case i < len(before) && (j == len(now) || common == nil || common[i+1][j] >= common[i][j+1]):
			changes = append(changes, "- "+before[i])
			i++
		default:
			changes = append(changes, "+ "+now[j])
			j++
		}
	}
	return changes
}

// longestCommon says how many lines two texts have in common from each pair of lines on; nil if
// they are too long.
func longestCommon(before, now []string) [][]uint16 {
	if len(before)*len(now) > mostCompared || min(len(before), len(now)) > 1<<16-1 {
		return nil
	}
	common := make([][]uint16, len(before)+1)
	for i := range common {
		common[i] = make([]uint16, len(now)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if sameLine(before[i], now[j]) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}

func sameLine(x, y string) bool { return strings.TrimSuffix(x, ",") == strings.TrimSuffix(y, ",") }
