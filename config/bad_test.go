package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// accepted by every schedule message.
const anySchedule = "; accepted: five cron fields (UTC) such as \"*/15 * * * *\", @hourly, @daily, @weekly, @monthly, or @every 15m"

// anyQuiet is the same of periods.
const anyQuiet = "; accepted: from and to in UTC, after a day or days if not every day, such as 22:00-06:00, Sat 00:00-24:00 or Mon-Fri 08:00-18:00"

// badFiles are the files of testdata and all that is said about each: "line: message", without the file's name.
var badFiles = map[string][]string{
	"bad-alias-loop.yml":           {`3: unknown key "batery" in guards; known keys: battery, foreign_iops, hot_margin_celsius, in_flight, max_temperature_celsius, utilisation, window, worn_ratio`},
	"bad-battery.yml":              {`2: guards.battery: "maybe" is not a truth value; accepted: true, false`},
	"bad-budget.yml":               {`2: budget.bytes_per_day: "some" is not an allowance; accepted: auto, 0 (write nothing), or a size such as 2GB`},
	"bad-device-light.yml":         {`2: targets[0]: /dev/nvme0n1 is a device, which is never written to; accepted: profile: read_only, or a folder as path`},
	"bad-duration-bare.yml":        {`2: smart.interval: "600" is not a duration; accepted: numbers and units from large to small, such as 15m, 1h30m or 7d`},
	"bad-duration-order.yml":       {`2: smart.interval: "30m1h" is not a duration; accepted: numbers and units from large to small, such as 15m, 1h30m or 7d`},
	"bad-duration-zero.yml":        {`2: smart.timeout: "0s" is no time at all; accepted: more than 0, such as 15m`},
	"bad-engine.yml":               {`3: targets[0].engine: "io_uring" is not a known engine; accepted: auto, uring, aio, sync`},
	"bad-file-size-ambiguous.yml":  {`3: targets[0].file_size: "1G" is not a size; accepted: a number and a unit, such as 512MiB, 1GiB or 2GB`},
	"bad-file-size-bare.yml":       {`3: targets[0].file_size: "1073741824" is not a size; accepted: a number and a unit, such as 512MiB, 1GiB or 2GB`},
	"bad-file-size-huge.yml":       {`3: targets[0].file_size: "9EiB" is too large; accepted: less than 8EiB`},
	"bad-file-size-negative.yml":   {`3: targets[0].file_size: "-1GiB" is not a size; accepted: a number and a unit, such as 512MiB, 1GiB or 2GB`},
	"bad-file-size-small.yml":      {`3: targets[0].file_size: 64MiB says too little about a disk; accepted: 256MiB or more`},
	"bad-file-size-zero.yml":       {`3: targets[0].file_size: "0GiB" is no size at all; accepted: more than 0, such as 1GiB`},
	"bad-fill-rate-slow.yml":       {`3: targets[0].fill_rate: "1kB" a second is too slow; accepted: 1MB or more, or unlimited`},
	"bad-fill-rate.yml":            {`3: targets[0].fill_rate: "fast" is not a rate; accepted: bytes per second, such as 100MB, or unlimited`},
	"bad-foreign-iops.yml":         {`2: guards.foreign_iops: +Inf is out of range; accepted: 1 to 1000000000`},
	"bad-hot-margin.yml":           {`2: guards.hot_margin_celsius: -5 is out of range; accepted: 0.1 to 50`},
	"bad-in-flight-zero.yml":       {`2: guards.in_flight: 0 is out of range; accepted: 1 to 1000000`},
	"bad-key-twice.yml":            {`3: key "battery" in guards is there twice, first on line 2; remove one`},
	"bad-list-scalar.yml":          {`1: targets is a single value; accepted: a list`},
	"bad-merge-unknown-key.yml":    {`7: unknown key "paht" in targets[1]; known keys: engine, file_size, fill_rate, name, path, profile, schedule, schedules`},
	"bad-name-characters.yml":      {`2: targets[0].name: "my disk" is not a name; accepted: 1 to 64 of a-z A-Z 0-9 _ . -`},
	"bad-name-empty.yml":           {`2: targets[0].name: "" is not a name; accepted: 1 to 64 of a-z A-Z 0-9 _ . -`},
	"bad-name-missing.yml":         {`2: targets[0]: name is missing; accepted: 1 to 64 of a-z A-Z 0-9 _ . -`},
	"bad-name-twice.yml":           {`5: targets[1].name: "a" is taken by the target on line 2; every target needs a name of its own`},
	"bad-not-yaml.yml":             {`2: this is not YAML: did not find expected key; check indentation, quotes and colons near this line`},
	"bad-path-empty.yml":           {`3: targets[0].path: the path is empty; accepted: a folder, a block device, or no such key for the state folder`},
	"bad-path-twice-state.yml":     {`3: targets[1].path: the state folder (no path is given) is already probed by the target on line 2; remove one of the two`},
	"bad-path-twice.yml":           {`5: targets[1].path: "/srv/db/" is already probed by the target on line 3; remove one of the two`},
	"bad-profile.yml":              {`3: targets[0].profile: "heavy" is not a known profile; accepted: light, read_only`},
	"bad-quiet-always.yml":         {`4: quiet_hours: they leave probes 30 minutes in a row at most; accepted: an hour or more at least once a week, or targets: [] to probe nothing`},
	"bad-quiet-bare.yml":           {`1: quiet_hours[0]: "22-6" is not a period` + anyQuiet},
	"bad-quiet-day.yml":            {`3: quiet_hours[1]: "Sam 00:00-24:00" is not a period` + anyQuiet},
	"bad-quiet-hour.yml":           {`2: quiet_hours[0]: "22:00-25:00" is not a period` + anyQuiet},
	"bad-quiet-midnight.yml":       {`2: quiet_hours[0]: "24:00-06:00" is not a period` + anyQuiet},
	"bad-quiet-nothing.yml":        {`2: quiet_hours[0]: "08:00-08:00" is no time at all; accepted: an end other than the beginning; a whole day is 00:00-24:00`},
	"bad-quiet-scalar.yml":         {`1: quiet_hours is a single value; accepted: a list`},
	"bad-quiet-zone.yml":           {`2: quiet_hours[0]: "22:00-06:00 CET" is not a period` + anyQuiet},
	"bad-rating-bytes.yml":         {`3: endurance.ratings[0]: bytes is missing; accepted: the published endurance, such as 140TB`},
	"bad-rating-model.yml":         {`3: endurance.ratings[0].model: "" is not a pattern; accepted: a model with * ? or [a-z], such as "INTEL SSDSC2BB240*"`},
	"bad-rating-years.yml":         {`5: endurance.ratings[0].years: 50 is out of range; accepted: 1 to 30, or no such key when unknown`},
	"bad-ratio-above.yml":          {`2: guards.worn_ratio: "1.2" is not a ratio; accepted: above 0 and up to 1, such as 0.3 for 30 percent`},
	"bad-ratio-nan.yml":            {`2: guards.utilisation: ".nan" is not a ratio; accepted: above 0 and up to 1, such as 0.3 for 30 percent`},
	"bad-ratio-percent.yml":        {`2: guards.utilisation: "30%" is not a ratio; accepted: above 0 and up to 1, such as 0.3 for 30 percent`},
	"bad-root-list.yml":            {`1: the file is a list; accepted: a section of "key: value" lines`},
	"bad-root-scalar.yml":          {`1: the file is a single value; accepted: a section of "key: value" lines`},
	"bad-schedule-descriptor.yml":  {`3: targets[0].schedule: "@fortnightly" is not a schedule: unrecognized descriptor: @fortnightly` + anySchedule},
	"bad-schedule-element.yml":     {`3: targets[0].schedule: "0,,30 * * * *" is not a schedule: field "0,,30" cannot be read` + anySchedule},
	"bad-schedule-every-bare.yml":  {`3: targets[0].schedule: "@every 15" is not a schedule: "15" is not a duration` + anySchedule},
	"bad-schedule-every-short.yml": {`3: targets[0].schedule: "@every 500ms" is not a schedule: the period must be whole seconds, at least 1s` + anySchedule},
	"bad-schedule-fields.yml":      {`3: targets[0].schedule: "*/15 * * *" is not a schedule: expected exactly 5 fields, found 4: [*/15 * * *]` + anySchedule},
	"bad-schedule-never.yml":       {`3: targets[0].schedule: "0 3 30 2 *" is not a schedule: no such day ever comes` + anySchedule},
	"bad-schedule-range.yml":       {`3: targets[0].schedule: "61 * * * *" is not a schedule: end of range (61) above maximum (59): 61` + anySchedule},
	"bad-schedule-time-zone.yml":   {`3: targets[0].schedule: "CRON_TZ=Europe/Berlin 30 2 * * *" is not a schedule: time zones have hours that come twice or never, so all schedules are in UTC` + anySchedule},
	"bad-schedules-read-only.yml":  {`5: targets[0].schedules: profile read_only has no workload "write_1m_q2"; accepted: read_4k_q1, cold_4k_q1, read_4k_q32, read_1m_q2`},
	"bad-schedules-value.yml":      {`4: targets[0].schedules.read_4k_q1: "hourly" is not a schedule: field "hourly" cannot be read` + anySchedule},
	"bad-schedules-workload.yml":   {`5: targets[0].schedules: profile light has no workload "read_4k"; accepted: read_4k_q1, cold_4k_q1, read_4k_q32, read_1m_q2, mixed80_4k_q4, mixed20_4k_q4, sync_4k_q1, open80_4k, write_1m_q2`},
	"bad-second-document.yml":      {`3: a second document begins here; a file holds one configuration, so remove the "---" and what follows`},
	"bad-section-scalar.yml":       {`1: guards is a single value; accepted: a section of "key: value" lines`},
	"bad-several.yml": {
		`2: guards.utilisation: "30" is not a ratio; accepted: above 0 and up to 1, such as 0.3 for 30 percent`,
		`5: smart.interval: "10" is not a duration; accepted: numbers and units from large to small, such as 15m, 1h30m or 7d`,
		`6: unknown key "poll" in smart; known keys: attributes, enabled, files, files_max_age, interval, nvme_interval, timeout`,
	},
	"bad-smart-files-pattern.yml":    {`4: smart.files[1]: "/var/lib/smart/[a-" is not a pattern; accepted: a path with * ? or [a-z], such as /var/lib/smartctl/*.json`},
	"bad-smart-interval-short.yml":   {`2: smart.nvme_interval: 500ms is out of range; accepted: 1s to 1d`},
	"bad-tab-indent.yml":             {`2: this is not YAML: found character that cannot start any token; check indentation, quotes and colons near this line`},
	"bad-target-empty.yml":           {`2: targets[0] is empty; remove the dash or write its keys`},
	"bad-targets-null.yml":           {`1: targets has no value; write [] for none, or remove the key for its default`},
	"bad-temperature-fahrenheit.yml": {`2: guards.max_temperature_celsius: 158 is out of range; accepted: 20 to 120`},
	"bad-unclosed-quote.yml":         {`2: this is not YAML: found unexpected end of stream; check indentation, quotes and colons near this line`},
	"bad-unknown-key-guards.yml":     {`2: unknown key "utilization" in guards; known keys: battery, foreign_iops, hot_margin_celsius, in_flight, max_temperature_celsius, utilisation, window, worn_ratio`},
	"bad-unknown-key-rating.yml":     {`4: unknown key "tbw" in endurance.ratings[0]; known keys: bytes, model, years`},
	"bad-unknown-key-target.yml":     {`3: unknown key "paht" in targets[0]; known keys: engine, file_size, fill_rate, name, path, profile, schedule, schedules`},
	"bad-unknown-key-top.yml":        {`3: unknown key "probes" in the file; known keys: budget, endurance, guards, metrics, quiet_hours, smart, targets`},
	"bad-value-list.yml":             {`3: targets[0].file_size is a list; accepted: a single value`},
	"bad-value-missing.yml":          {`3: targets[0].file_size has no value; write one, or remove the key for its default`},
	"bad-whole-number.yml":           {`2: guards.in_flight: "few" is not a whole number; accepted: digits, such as 2`},
	"bad-window.yml":                 {`2: guards.window: 2m is out of range; accepted: 100ms to 1m`},
}

func TestParse_says_of_each_bad_file_where_what_and_what_is_accepted(t *testing.T) {
	files, err := filepath.Glob("testdata/bad-*.yml")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d bad files (%v), want at least 30", len(files), err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		t.Run(strings.TrimSuffix(strings.TrimPrefix(name, "bad-"), ".yml"), func(t *testing.T) {
			want, ok := badFiles[name]
			if !ok {
				t.Fatalf("no message is expected of %s: add it to the table", name)
			}
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := Parse(name, b)
			if err == nil {
				t.Fatalf("accepted as\n%s", cfg.YAML())
			}
			if _, ok := errors.AsType[Errors](err); !ok {
				t.Fatalf("the error is a %T, want Errors", err)
			}
			if got, want := err.Error(), name+":"+strings.Join(want, "\n"+name+":"); got != want {
				t.Errorf("message\n got %s\nwant %s", got, want)
			}
		})
	}
	for name := range badFiles {
		if _, err := os.Stat(filepath.Join("testdata", name)); err != nil {
			t.Errorf("a message is expected of a file that is not there: %v", err)
		}
	}
}
