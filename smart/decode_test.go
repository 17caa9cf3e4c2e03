package smart

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// A report as short as one can be.
func shortReport(serial string) string {
	return `{"smartctl":{"exit_status":0},"device":{"name":"/dev/sda","type":"sat","protocol":"ATA"},"model_name":"M","serial_number":"` +
		serial + `","ata_smart_attributes":{"table":[{"id":9,"value":100,"raw":{"value":5,"string":"5"}}]}}`
}

// printed is the same as smartctl -j prints it.
func printed(serial string) string {
	return strings.NewReplacer(`{`, "{\n  ", `[{`, "[\n  {", `,"`, ",\n  \"").Replace(shortReport(serial))
}

// decoded lists serial numbers, and "!" for a report with an error.
func decoded(t *testing.T, r io.Reader) ([]string, error) {
	t.Helper()
	var got []string
	err := Decode(r, "in", func(r *Reading, err error) error {
		if err != nil {
			if re, ok := errors.AsType[*ReadError](err); !ok || !strings.HasPrefix(re.Disk, "in: report ") {
				t.Errorf("error %v (%T), want a *ReadError that says where", err, err)
			}
			got = append(got, "!")
			return nil
		}
		got = append(got, r.Identity.Serial)
		return nil
	})
	return got, err
}

func TestDecodeTakesStreamsApart(t *testing.T) {
	one, two, three := shortReport("1"), shortReport("2"), shortReport("3")
	cut := one[:len(one)/2] // inside a nested object
	inString, _, _ := strings.Cut(one, "odel_name")
	afterComma, _, _ := strings.Cut(one, `"model_name"`)
	afterColon, _, _ := strings.Cut(one, `"M"`)
	for name, c := range map[string]struct {
		in   string
		want string // serial numbers and "!" for errors
	}{
		"one document":                     {one, "1"},
		"one printed document":             {printed("1"), "1"},
		"two printed documents":            {printed("1") + printed("2"), "1 2"},
		"JSON Lines":                       {one + "\n" + two + "\n" + three + "\n", "1 2 3"},
		"JSON Lines with carriage returns": {one + "\r\n" + two + "\r\n", "1 2"},
		"no line break between":            {one + two, "1 2"},
		"an array of reports":              {"[" + one + ",\n" + two + "]", "1 2"},
		"a byte order mark":                {"\xef\xbb\xbf" + one, "1"},
		"empty lines":                      {"\n\n" + one + "\n\n\n" + two, "1 2"},
		"printed without indentation":      {strings.ReplaceAll(printed("1"), "\n  ", "\n") + "\n" + two, "1 2"},

		"a line cut off inside a nested object":      {one + "\n" + cut + "\n" + three + "\n", "1 ! 3"},
		"a line cut off inside a string":             {one + "\n" + inString + "\n" + three + "\n", "1 ! 3"},
		"a line cut off after a comma":               {one + "\n" + afterComma + "\n" + three + "\n", "1 ! 3"},
		"a line cut off after a colon swallows none": {one + "\n" + afterColon + "\n" + two + "\n" + three + "\n", "1 ! 2 3"},
		"a line cut off at the end":                  {one + "\n" + cut, "1 !"},
		"several broken lines":                       {cut + "\n" + inString + "\n" + afterColon + "\n" + three, "! ! ! 3"},
		"a printed document cut off":                 {printed("1")[:60] + "\n" + printed("2") + "\n", "! 2"},
		"brackets that do not match":                 {`{"a":[1}` + "\n" + two, "! 2"},
		"a closing brace too many is no report":      {one + "}\n" + two, "1 ! 2"},
		"a line that is no JSON":                     {"smartctl 7.4 2023-08-01\n" + one + "\nbye\n" + two, "! 1 ! 2"},
		"valid brackets, invalid JSON":               {`{"smartctl" 1}` + "\n" + two, "! 2"},
		"JSON of something else":                     {`{"hello":"world"}` + "\n" + two, "! 2"},
		"an empty object":                            {"{}\n" + two, "! 2"},
	} {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once":         strings.NewReader(c.in),
				"byte by byte":    iotest.OneByteReader(strings.NewReader(c.in)),
				"data with error": iotest.DataErrReader(strings.NewReader(c.in)),
				"gzip":            zipped(t, c.in),
			} {
				got, err := decoded(t, r)
				if err != nil || strings.Join(got, " ") != c.want {
					t.Errorf("%s: got %q, %v, want %q", how, strings.Join(got, " "), err, c.want)
				}
			}
		})
	}
}

func zipped(t *testing.T, s string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, s); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestDecodeSaysWhereAndWhat(t *testing.T) {
	var texts []string
	in := shortReport("1") + "\n\n" + `{"a":` + "\n" + shortReport("2")
	err := Decode(strings.NewReader(in), "file:/x.json", func(_ *Reading, err error) error {
		if err != nil {
			re, _ := errors.AsType[*ReadError](err)
			texts = append(texts, fmt.Sprint(re.Disk, " ", re.Reason, " ", errors.Is(err, errTruncated)))
		}
		return nil
	})
	want := []string{"file:/x.json: report 2 (line 3) parse true"}
	if err != nil || !slices.Equal(texts, want) {
		t.Errorf("got %q, %v, want %q", texts, err, want)
	}
}

func TestDecodeEndsWithAnError(t *testing.T) {
	boom := errors.New("boom")
	whole, err := io.ReadAll(zipped(t, strings.Repeat(shortReport("1")+"\n", 2000)))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in      io.Reader
		is      error
		reports int // at least
	}{
		"on empty input":                     {strings.NewReader(""), ErrNoReport, 0},
		"on nothing but space":               {strings.NewReader(" \n\n"), ErrNoReport, 0},
		"on an empty array":                  {strings.NewReader("[]"), ErrNoReport, 0},
		"when the reader fails":              {io.MultiReader(strings.NewReader(shortReport("1")), iotest.ErrReader(boom)), boom, 1},
		"when gzip is cut off":               {bytes.NewReader(whole[:len(whole)/2]), io.ErrUnexpectedEOF, 1},
		"when gzip is only a magic number":   {strings.NewReader("\x1f\x8b"), io.ErrUnexpectedEOF, 0},
		"when the reader fails at its start": {iotest.ErrReader(boom), boom, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decoded(t, c.in)
			if !errors.Is(err, c.is) || !strings.HasPrefix(err.Error(), "in") {
				t.Errorf("error = %v, want %v, and the source", err, c.is)
			}
			if len(got) < c.reports || slices.Contains(got, "!") {
				t.Errorf("reports before it: %q, want at least %d good ones", got, c.reports)
			}
		})
	}
	t.Run("when each says so", func(t *testing.T) {
		n := 0
		err := Decode(strings.NewReader(shortReport("1")+shortReport("2")), "in", func(*Reading, error) error { n++; return boom })
		if !errors.Is(err, boom) || n != 1 {
			t.Errorf("got %v after %d", err, n)
		}
	})
}

func TestDecodeKeepsGoingAfterAHugeDocument(t *testing.T) {
	huge := `{"x":"` + strings.Repeat("a", maxDocument+1<<17) + `"}`
	got, err := decoded(t, strings.NewReader(huge+"\n"+shortReport("2")))
	if err != nil || strings.Join(got, " ") != "! 2" {
		t.Errorf("got %q, %v", got, err)
	}
}

// Each of these lines could be a nested object, so each is given back when the end comes too early. That must not become
// quadratic: 20,000 lines are read again at most as often as the nesting goes deep.
func TestDecodeOfEndlessNestingStaysLinear(t *testing.T) {
	const lines = 20_000
	got, err := decoded(t, strings.NewReader(strings.Repeat("{\"a\":[\n", lines)+shortReport("2")))
	if err != nil || len(got) != lines+1 || got[lines] != "2" {
		t.Errorf("%d reports, %v: want %d broken ones and the last", len(got), err, lines)
	}
}

func TestDecodeSmartctlFailures(t *testing.T) {
	for name, c := range map[string]struct {
		in     string
		reason Reason
		text   string
	}{
		"no permission": {
			`{"smartctl":{"exit_status":2,"messages":[{"string":"Smartctl open device: /dev/nvme0 failed: Permission denied","severity":"error"}]},"device":{"name":"/dev/nvme0","protocol":"NVMe"}}`,
			Permission, "Permission denied",
		},
		"no such device": {
			`{"smartctl":{"exit_status":2,"messages":[{"string":"Smartctl open device: /dev/sdz failed: No such device","severity":"error"}]}}`,
			IO, "No such device",
		},
		"a virtual disk": {
			`{"smartctl":{"exit_status":1,"messages":[{"string":"/dev/vda: Unable to detect device type","severity":"error"}]}}`,
			Unsupported, "Unable to detect device type",
		},
		"failed without a word":               {`{"smartctl":{"exit_status":2},"device":{"name":"/dev/sda","protocol":"ATA"}}`, Other, "exit status 2"},
		"messages only, exit status 0":        {`{"smartctl":{"exit_status":0,"messages":[{"string":"Read Device Identity failed","severity":"error"}]}}`, IO, "Read Device Identity failed"},
		"a bridge that answers for itself":    {`{"smartctl":{"exit_status":0},"device":{"name":"/dev/sda","protocol":"SCSI"},"model_name":"JMicron Generic"}`, Unsupported, "no S.M.A.R.T. data"},
		"fatal although there are attributes": {strings.Replace(shortReport("1"), `"exit_status":0`, `"exit_status":3`, 1), Other, "exit status 3"},
		"JSON of something else":              {`{"a":1}`, Parse, "not a S.M.A.R.T. report"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			err := Decode(strings.NewReader(c.in), "in", func(_ *Reading, err error) error {
				n++
				re, ok := errors.AsType[*ReadError](err)
				if !ok || re.Reason != c.reason || re.Err == nil || !strings.Contains(re.Err.Error(), c.text) {
					t.Errorf("error %v, want reason %s and %q", err, c.reason, c.text)
				}
				return nil
			})
			if err != nil || n != 1 {
				t.Errorf("%d reports, %v", n, err)
			}
		})
	}
}

func TestDecodeFindingsKeepTheData(t *testing.T) {
	for bit := 2; bit <= 7; bit++ {
		in := strings.Replace(shortReport("1"), `"exit_status":0`, fmt.Sprintf(`"exit_status":%d`, 1<<bit), 1)
		r, err := single(t, in)
		if err != nil || len(r.Attributes) != 1 || len(r.Messages) != 1 || !strings.Contains(r.Messages[0], fmt.Sprintf("bit %d:", bit)) {
			t.Errorf("bit %d: %+v, %v: want the attributes and one finding", bit, r, err)
		}
	}
}

func TestDecodeSleepingDisk(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"7.0, words only": {`{"smartctl":{"exit_status":2,"messages":[{"string":"Device is in STANDBY mode, exit(2)","severity":"information"}]},"device":{"name":"/dev/sdc","type":"sat","protocol":"ATA"},"model_name":"M"}`, "standby"},
		"7.5, power mode": {`{"smartctl":{"exit_status":2},"device":{"name":"/dev/sdc","protocol":"ATA"},"power_mode":{"ata_value":0,"name":"STANDBY"}}`, "standby"},
		"asleep":          {`{"smartctl":{"exit_status":0,"messages":[{"string":"Device is in SLEEP mode, exit(0)","severity":"information"}]},"device":{"name":"/dev/sdc","protocol":"ATA"}}`, "sleep"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := single(t, c.in)
			if err != nil || r.PowerState != c.want || r.Identity.Kernel != "sdc" {
				t.Fatalf("got %+v, %v, want a sleeping sdc", r, err)
			}
			if h := Interpret(r); h.Wear.Used != nil || h.Healthy != nil || h.PowerState != c.want {
				t.Errorf("health of a sleeping disk: %+v", h)
			}
		})
	}
}

func TestDecodeOddFieldsCostOnlyThemselves(t *testing.T) {
	in := strings.Replace(shortReport("1"), `"model_name":"M"`, `"model_name":["M"],"rotation_rate":"fast","user_capacity":7`, 1)
	r, err := single(t, in)
	if err != nil || len(r.Attributes) != 1 || r.Identity.Serial != "1" {
		t.Fatalf("got %+v, %v, want everything else", r, err)
	}
	if r.RotationRate != nil || r.Capacity != 0 || r.Identity.Model != "" {
		t.Errorf("something was made of what was not understood: %+v", r)
	}
	if h := Interpret(r); len(h.Errors) != 1 || !strings.Contains(h.Errors[0], "model_name") {
		t.Errorf("errors = %q, want one that names the field", h.Errors)
	}
}

func TestDecodeIdentity(t *testing.T) {
	for name, c := range map[string]struct{ in, kernel, model, firmware, wwn, transport string }{
		"SATA": {
			`{"device":{"name":"/dev/sdb","type":"sat","protocol":"ATA"},"model_name":" M ","firmware_version":"F","wwn":{"naa":5,"oui":5358,"id":4886718345},"smart_status":{"passed":true}}`,
			"sdb", "M", "F", "naa.50014ee123456789", "sata",
		},
		"behind a RAID controller": {
			`{"device":{"name":"/dev/sda","type":"sat+megaraid,1","protocol":"ATA"},"model_name":"M","smart_status":{"passed":true}}`,
			"sda;sat+megaraid,1", "M", "", "", "sata",
		},
		"NVMe": {
			`{"device":{"name":"/dev/nvme0","type":"nvme","protocol":"NVMe"},"model_name":"M","nvme_namespaces":[{"id":1,"eui64":{"oui":41077,"ext_id":78187493547}}],"smart_status":{"passed":true}}`,
			"nvme0", "M", "", "eui.00a07512345678ab", "nvme",
		},
		"SAS": {
			`{"device":{"name":"/dev/sdc","type":"scsi","protocol":"SCSI"},"scsi_vendor":"V","scsi_model_name":"V P","scsi_revision":"R","logical_unit_id":"0x5002538F31B1FD8F","scsi_transport_protocol":{"name":"SAS (SPL-4)"},"smart_status":{"passed":true}}`,
			"sdc", "V P", "R", "naa.5002538f31b1fd8f", "sas",
		},
		"SCSI of old smartctl": {
			`{"device":{"name":"/dev/sdc","type":"scsi","protocol":"SCSI"},"vendor":"V","product":"P","revision":"R","smart_status":{"passed":true}}`,
			"sdc", "V P", "R", "", "",
		},
		"no name at all": {
			`{"device":{"name":"/dev/sdc","protocol":"ATA"},"wwn":{"naa":0,"oui":0,"id":0},"smart_status":{"passed":true}}`,
			"sdc", "", "", "", "sata",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := single(t, c.in)
			if err != nil {
				t.Fatal(err)
			}
			id := r.Identity
			if id.Kernel != c.kernel || id.Model != c.model || id.Firmware != c.firmware || id.WWN != c.wwn || id.Transport != c.transport {
				t.Errorf("got %+v, want %+v", id, c)
			}
		})
	}
}

// single decodes one report.
func single(t *testing.T, in string) (r *Reading, err error) {
	t.Helper()
	n := 0
	if e := Decode(strings.NewReader(in), "in", func(got *Reading, e error) error {
		n++
		r, err = got, e
		return nil
	}); e != nil || n != 1 {
		t.Fatalf("%d reports: %v", n, e)
	}
	return r, err
}

func TestDecodeNamesAreFitToBeShown(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"line breaks, which forge lines of a log": {`A\r\nB`, "A  B"},
		"escapes, which move a cursor":            {`\u001b[31mA\u0007`, "[31mA"},
		"a turned direction of writing":           {`A\u202eB`, "A B"},
		"NULs of a fixed-width field":             {`A\u0000\u0000`, "A"},
		"what is merely rare stays":               {`Zoë <b>\"A\"`, `Zoë <b>"A"`},
		"bytes of no character":                   {"A\xff\xfeB", "A\uFFFD\uFFFDB"},
		"no end":                                  {strings.Repeat("é", 100_000), strings.Repeat("é", longestName)},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := single(t, `{"device":{"name":"/dev/sda","protocol":"ATA"},"model_name":"`+c.said+`","serial_number":"`+c.said+`","firmware_version":"`+c.said+`","smart_status":{"passed":true}}`)
			if err != nil {
				t.Fatal(err)
			}
			for field, got := range map[string]string{"model": r.Identity.Model, "serial": r.Identity.Serial, "firmware": r.Identity.Firmware} {
				if got != c.want {
					t.Errorf("%s %.300q, want %.300q", field, got, c.want)
				}
			}
		})
	}
}
