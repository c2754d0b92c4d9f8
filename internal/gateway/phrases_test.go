package gateway_test

import "strings"

// phrase is what a person says, and what must come of it.
type phrase struct {
	say string
	// tool, "" for schedule, is what the model calls with args. [WORDS] in args stands for the
	// number of the reminder of these words, and ZONE for the person's zone.
	tool, args string
	// later is how many hours after the others it is said.
	later int
	// refused is in what the person reads if nothing comes of it.
	refused string
	// due is when it must come, in each of the zones.
	due [3]string
}

// words is the text or prompt of p.
func (p phrase) words() string {
	for _, part := range []string{`"text":"`, `"prompt":"`} {
		_, rest, found := strings.Cut(p.args, part)
		words, _, _ := strings.Cut(rest, `"`)
		if found {
			return words
		}
	}
	return ""
}

// phrases are what one person says on Saturday 13 March 2027 at ten in the morning, with the
// call that a model makes of each. The instants were worked out from the offsets of the
// zones, and not by our code. They are in Berlin, in New York and on Lord Howe Island. Where a
// clock jumps over what was asked for, it is the moment of the jump; where it shows it twice,
// the first time.
var phrases = []phrase{
	{
		say: "I live in CITY. Remind me tomorrow at nine to call Ann", args: `{"text":"call Ann","at":"2027-03-14T09:00","zone":"ZONE"}`,
		due: [3]string{
			"2027-03-14T08:00Z",
			"2027-03-14T13:00Z",
			"2027-03-13T22:00Z",
		},
	},
	{
		say: "in an hour and a half, the oven", args: `{"text":"the oven","in":"1h30m"}`,
		due: [3]string{
			"2027-03-13T10:30Z",
			"2027-03-13T16:30Z",
			"2027-03-13T00:30Z",
		},
	},
	{
		say: "in ten minutes, tea", args: `{"text":"tea","in":"10m"}`,
		due: [3]string{
			"2027-03-13T09:10Z",
			"2027-03-13T15:10Z",
			"2027-03-12T23:10Z",
		},
	},
	{
		say: "in 24 hours, the plaster off", args: `{"text":"the plaster off","in":"24h"}`,
		due: [3]string{
			"2027-03-14T09:00Z",
			"2027-03-14T15:00Z",
			"2027-03-13T23:00Z",
		},
	},
	{
		say: "in 36 hours and 20 minutes, turn the cheese", args: `{"text":"turn the cheese","in":"36h20m"}`,
		due: [3]string{
			"2027-03-14T21:20Z",
			"2027-03-15T03:20Z",
			"2027-03-14T11:20Z",
		},
	},
	{
		say: "tomorrow at the same time, water the fern", args: `{"text":"water the fern","at":"2027-03-14T10:00"}`,
		due: [3]string{
			"2027-03-14T09:00Z",
			"2027-03-14T14:00Z",
			"2027-03-13T23:00Z",
		},
	},
	{
		say: "tonight at eight, the film", args: `{"text":"the film","at":"2027-03-13T20:00"}`,
		due: [3]string{
			"2027-03-13T19:00Z",
			"2027-03-14T01:00Z",
			"2027-03-13T09:00Z",
		},
	},
	{
		say: "at midnight, happy birthday", args: `{"text":"happy birthday","at":"2027-03-14T00:00"}`,
		due: [3]string{
			"2027-03-13T23:00Z",
			"2027-03-14T05:00Z",
			"2027-03-13T13:00Z",
		},
	},
	{
		say: "two weeks from now, pay Eve", args: `{"text":"pay Eve","at":"2027-03-27T10:00"}`,
		due: [3]string{
			"2027-03-27T09:00Z",
			"2027-03-27T14:00Z",
			"2027-03-26T23:00Z",
		},
	},
	{
		say: "at noon on Easter Monday, the roast", args: `{"text":"the roast","at":"2027-03-29T12:00"}`,
		due: [3]string{
			"2027-03-29T10:00Z",
			"2027-03-29T16:00Z",
			"2027-03-29T01:00Z",
		},
	},
	{
		say: "a minute before the new year, the fireworks", args: `{"text":"the fireworks","at":"2027-12-31T23:59"}`,
		due: [3]string{
			"2027-12-31T22:59Z",
			"2028-01-01T04:59Z",
			"2027-12-31T12:59Z",
		},
	},
	{
		say: "on the next leap day at ten, propose", args: `{"text":"propose","at":"2028-02-29T10:00"}`,
		due: [3]string{
			"2028-02-29T09:00Z",
			"2028-02-29T15:00Z",
			"2028-02-28T23:00Z",
		},
	},
	{
		say: "tonight at half past two, feed the baby", args: `{"text":"feed the baby","at":"2027-03-14T02:30"}`,
		due: [3]string{
			"2027-03-14T01:30Z",
			"2027-03-14T07:00Z",
			"2027-03-13T15:30Z",
		},
	},
	{
		say: "on 28 March at half past two in the night, the bread", args: `{"text":"the bread","at":"2027-03-28T02:30"}`,
		due: [3]string{
			"2027-03-28T01:00Z",
			"2027-03-28T06:30Z",
			"2027-03-27T15:30Z",
		},
	},
	{
		say: "on 4 April at a quarter to two in the night, the server", args: `{"text":"the server","at":"2027-04-04T01:45"}`,
		due: [3]string{
			"2027-04-03T23:45Z",
			"2027-04-04T05:45Z",
			"2027-04-03T14:45Z",
		},
	},
	{
		say: "on 3 October at a quarter past two in the night, the tide", args: `{"text":"the tide","at":"2027-10-03T02:15"}`,
		due: [3]string{
			"2027-10-03T00:15Z",
			"2027-10-03T06:15Z",
			"2027-10-02T15:30Z",
		},
	},
	{
		say: "on 31 October at half past two in the night, the clocks", args: `{"text":"the clocks","at":"2027-10-31T02:30"}`,
		due: [3]string{
			"2027-10-31T00:30Z",
			"2027-10-31T06:30Z",
			"2027-10-30T15:30Z",
		},
	},
	{
		say: "on 7 November at half past one in the night, the backup", args: `{"text":"the backup","at":"2027-11-07T01:30"}`,
		due: [3]string{
			"2027-11-07T00:30Z",
			"2027-11-07T05:30Z",
			"2027-11-06T14:30Z",
		},
	},
	{
		say: "every last Friday of the month at 4 until summer, the report", args: `{"text":"the report","repeat":{"freq":"monthly","days":["-1fr"],"times":["16:00"],"until":"2027-06-20"}}`,
		due: [3]string{
			"2027-03-26T15:00Z 2027-04-30T14:00Z 2027-05-28T14:00Z",
			"2027-03-26T20:00Z 2027-04-30T20:00Z 2027-05-28T20:00Z",
			"2027-03-26T05:00Z 2027-04-30T05:30Z 2027-05-28T05:30Z",
		},
	},
	{
		say: "every other Monday until summer at six, the bins", args: `{"text":"the bins","repeat":{"freq":"weekly","interval":2,"days":["mo"],"times":["18:00"],"until":"2027-06-20"}}`,
		due: [3]string{
			"2027-03-15T17:00Z 2027-03-29T16:00Z 2027-04-12T16:00Z 2027-04-26T16:00Z 2027-05-10T16:00Z 2027-05-24T16:00Z 2027-06-07T16:00Z",
			"2027-03-15T22:00Z 2027-03-29T22:00Z 2027-04-12T22:00Z 2027-04-26T22:00Z 2027-05-10T22:00Z 2027-05-24T22:00Z 2027-06-07T22:00Z",
			"2027-03-15T07:00Z 2027-03-29T07:00Z 2027-04-12T07:30Z 2027-04-26T07:30Z 2027-05-10T07:30Z 2027-05-24T07:30Z 2027-06-07T07:30Z",
		},
	},
	{
		say: "every day at five past nine, five times, stretch", args: `{"text":"stretch","repeat":{"freq":"daily","times":["09:05"],"count":5}}`,
		due: [3]string{
			"2027-03-14T08:05Z 2027-03-15T08:05Z 2027-03-16T08:05Z 2027-03-17T08:05Z 2027-03-18T08:05Z",
			"2027-03-14T13:05Z 2027-03-15T13:05Z 2027-03-16T13:05Z 2027-03-17T13:05Z 2027-03-18T13:05Z",
			"2027-03-13T22:05Z 2027-03-14T22:05Z 2027-03-15T22:05Z 2027-03-16T22:05Z 2027-03-17T22:05Z",
		},
	},
	{
		say: "on weekdays at 7:45 until the end of next week, the bus", args: `{"text":"the bus","repeat":{"freq":"weekly","days":["mo","tu","we","th","fr"],"times":["07:45"],"until":"2027-03-19"}}`,
		due: [3]string{
			"2027-03-15T06:45Z 2027-03-16T06:45Z 2027-03-17T06:45Z 2027-03-18T06:45Z 2027-03-19T06:45Z",
			"2027-03-15T11:45Z 2027-03-16T11:45Z 2027-03-17T11:45Z 2027-03-18T11:45Z 2027-03-19T11:45Z",
			"2027-03-14T20:45Z 2027-03-15T20:45Z 2027-03-16T20:45Z 2027-03-17T20:45Z 2027-03-18T20:45Z",
		},
	},
	{
		say: "at eight and at half past eight in the evening, four times, pills", args: `{"text":"pills","repeat":{"freq":"daily","times":["08:00","20:30"],"count":4}}`,
		due: [3]string{
			"2027-03-13T19:30Z 2027-03-14T07:00Z 2027-03-14T19:30Z 2027-03-15T07:00Z",
			"2027-03-14T01:30Z 2027-03-14T12:00Z 2027-03-15T00:30Z 2027-03-15T12:00Z",
			"2027-03-13T09:30Z 2027-03-13T21:00Z 2027-03-14T09:30Z 2027-03-14T21:00Z",
		},
	},
	{
		say: "on the first of each month until July, the rent", args: `{"text":"the rent","repeat":{"freq":"monthly","days":["1"],"times":["08:00"],"until":"2027-07-31"}}`,
		due: [3]string{
			"2027-04-01T06:00Z 2027-05-01T06:00Z 2027-06-01T06:00Z 2027-07-01T06:00Z",
			"2027-04-01T12:00Z 2027-05-01T12:00Z 2027-06-01T12:00Z 2027-07-01T12:00Z",
			"2027-03-31T21:00Z 2027-04-30T21:30Z 2027-05-31T21:30Z 2027-06-30T21:30Z",
		},
	},
	{
		say: "on the last day of the month, three times, the hours", args: `{"text":"the hours","repeat":{"freq":"monthly","days":["-1"],"times":["18:00"],"count":3}}`,
		due: [3]string{
			"2027-03-31T16:00Z 2027-04-30T16:00Z 2027-05-31T16:00Z",
			"2027-03-31T22:00Z 2027-04-30T22:00Z 2027-05-31T22:00Z",
			"2027-03-31T07:00Z 2027-04-30T07:30Z 2027-05-31T07:30Z",
		},
	},
	{
		say: "on the 31st, three times, the inventory", args: `{"text":"the inventory","repeat":{"freq":"monthly","days":[31],"times":["12:00"],"count":3}}`,
		due: [3]string{
			"2027-03-31T10:00Z 2027-05-31T10:00Z 2027-07-31T10:00Z",
			"2027-03-31T16:00Z 2027-05-31T16:00Z 2027-07-31T16:00Z",
			"2027-03-31T01:00Z 2027-05-31T01:30Z 2027-07-31T01:30Z",
		},
	},
	{
		say: "on the second Tuesday of the month at five, three times, the choir", args: `{"text":"the choir","repeat":{"freq":"monthly","days":"2tu","times":"17:00","count":"3"}}`,
		due: [3]string{
			"2027-04-13T15:00Z 2027-05-11T15:00Z 2027-06-08T15:00Z",
			"2027-04-13T21:00Z 2027-05-11T21:00Z 2027-06-08T21:00Z",
			"2027-04-13T06:30Z 2027-05-11T06:30Z 2027-06-08T06:30Z",
		},
	},
	{
		say: "every third day at six, four times, run", args: `{"text":"run","repeat":{"freq":"daily","interval":3,"times":["06:00"],"count":4}}`,
		due: [3]string{
			"2027-03-14T05:00Z 2027-03-17T05:00Z 2027-03-20T05:00Z 2027-03-23T05:00Z",
			"2027-03-14T10:00Z 2027-03-17T10:00Z 2027-03-20T10:00Z 2027-03-23T10:00Z",
			"2027-03-13T19:00Z 2027-03-16T19:00Z 2027-03-19T19:00Z 2027-03-22T19:00Z",
		},
	},
	{
		say: "at weekends at half past ten until Easter, the garden", args: `{"text":"the garden","repeat":{"freq":"weekly","days":["sa","su"],"times":["10:30"],"until":"2027-03-28"}}`,
		due: [3]string{
			"2027-03-13T09:30Z 2027-03-14T09:30Z 2027-03-20T09:30Z 2027-03-21T09:30Z 2027-03-27T09:30Z 2027-03-28T08:30Z",
			"2027-03-13T15:30Z 2027-03-14T14:30Z 2027-03-20T14:30Z 2027-03-21T14:30Z 2027-03-27T14:30Z 2027-03-28T14:30Z",
			"2027-03-12T23:30Z 2027-03-13T23:30Z 2027-03-19T23:30Z 2027-03-20T23:30Z 2027-03-26T23:30Z 2027-03-27T23:30Z",
		},
	},
	{
		say: "each year on 3 April, two times, our day", args: `{"text":"our day","at":"2027-04-03T08:30","repeat":{"freq":"yearly","count":2}}`,
		due: [3]string{
			"2027-04-03T06:30Z 2028-04-03T06:30Z",
			"2027-04-03T12:30Z 2028-04-03T12:30Z",
			"2027-04-02T21:30Z 2028-04-02T22:00Z",
		},
	},
	{
		say: "three nights from 27 March at half past two, the telescope", args: `{"text":"the telescope","at":"2027-03-27T02:30","repeat":{"freq":"daily","count":3}}`,
		due: [3]string{
			"2027-03-27T01:30Z 2027-03-28T01:00Z 2027-03-29T00:30Z",
			"2027-03-27T06:30Z 2027-03-28T06:30Z 2027-03-29T06:30Z",
			"2027-03-26T15:30Z 2027-03-27T15:30Z 2027-03-28T15:30Z",
		},
	},
	{
		say: "three nights from 6 November at half past one, the owl", args: `{"text":"the owl","at":"2027-11-06T01:30","repeat":{"freq":"daily","count":3}}`,
		due: [3]string{
			"2027-11-06T00:30Z 2027-11-07T00:30Z 2027-11-08T00:30Z",
			"2027-11-06T05:30Z 2027-11-07T05:30Z 2027-11-08T06:30Z",
			"2027-11-05T14:30Z 2027-11-06T14:30Z 2027-11-07T14:30Z",
		},
	},
	{
		say: "every six hours, drink", args: `{"text":"drink","every":"6h"}`,
		due: [3]string{
			"2027-03-13T15:00Z 2027-03-13T21:00Z 2027-03-14T03:00Z",
			"2027-03-13T21:00Z 2027-03-14T03:00Z 2027-03-14T09:00Z",
			"2027-03-13T05:00Z 2027-03-13T11:00Z 2027-03-13T17:00Z",
		},
	},
	{
		say: "tell me the news at seven tomorrow", args: `{"prompt":"tell the news","at":"2027-03-14T07:00"}`,
		due: [3]string{
			"2027-03-14T06:00Z",
			"2027-03-14T11:00Z",
			"2027-03-13T20:00Z",
		},
	},
	{
		say: "the dentist, on the 20th at two", args: `{"text":"the dentist","at":"2027-03-20T14:00"}`,
		due: [3]string{
			"2027-03-20T14:00Z",
			"2027-03-20T19:00Z",
			"2027-03-20T04:00Z",
		},
	},
	{say: "no, the dentist is an hour later", args: `{"id":"[the dentist]","at":"2027-03-20T15:00"}`, tool: "change_job"},
	{say: "enough of drinking", args: `{"id":"[drink]"}`, tool: "cancel_job", later: 20},
	{say: "in half an hour, the milk", args: `{"text":"the milk","in":"30m"}`},
	{say: "forget the milk", args: `{"id":"[the milk]"}`, tool: "cancel_job"},
	{say: "on 30 February at nine, skate", args: `{"text":"skate","at":"2027-02-30T09:00"}`, refused: "that month has no such day"},
	{say: "yesterday at noon, lunch", args: `{"text":"lunch","at":"2027-03-12T12:00"}`, refused: "2027-03-12 12:00 is over: it is Saturday 13 March 2027, 10:00 (ZONE) now"},
	{say: "today at nine, get up", args: `{"text":"get up","at":"2027-03-13T09:00"}`, refused: "it is Saturday 13 March 2027, 10:00 (ZONE) now"},
	{say: "every day until last Sunday, fast", args: `{"text":"fast","repeat":{"freq":"daily","times":["09:00"],"until":"2027-03-07"}}`, refused: "until 2027-03-07 is over: it begins on 2027-03-13"},
	{say: "every minute, breathe", args: `{"text":"breathe","every":"1m"}`, refused: "every 1m: want at least 5m"},
	{say: "each half hour, look at the news", args: `{"prompt":"the news","every":"30m"}`, refused: "a prompt may run once an hour at most"},
	{say: "in a hundred years, the archive", args: `{"text":"the archive","at":"2127-03-13T10:00"}`, refused: "more than ten years ahead"},
	{say: "at nine in London, the call", args: `{"text":"the call","at":"2027-03-15T09:00+00:00"}`, refused: "has an offset; write what the person's clock shows"},
}
