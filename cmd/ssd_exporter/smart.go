package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"ssd_exporter/smart"
)

// smartFlags are the flags and arguments of smart.
type smartFlags struct {
	disks  []string
	from   []string
	output string
}

func (a *app) addSmart() {
	c := a.kingpin.Command("smart", "Show what disks say of their health and what it means; ends with 1 when not one could be understood.")
	f := smartFlags{}
	c.Arg("DISK", "Kernel name or device path, such as nvme0n1 or /dev/sda; all disks when left out.").StringsVar(&f.disks)
	c.Flag("from", "Read the JSON of \"smartctl -x -j\" from this file in place of a disk: documents or JSON Lines, plain or gzip; - is standard input. Repeatable.").
		PlaceHolder("FILE").StringsVar(&f.from)
	c.Flag("output", "table (for people), json, jsonl (one line per report, in input order), or prometheus.").
		Default("table").EnumVar(&f.output, "table", "json", "jsonl", "prometheus")
	a.add(c, func(ctx context.Context) error { return a.smart(ctx, f) })
}

// report is one disk or one document, understood or not.
type report struct {
	source  string         // disk path or file, for people
	reading *smart.Reading // nil when there is none
	health  *smart.Health  // nil when err is set
	took    time.Duration  // to read
	err     error
}

// problem is the error in words, with the name of what was read in front.
func (r *report) problem() string {
	if _, ok := errors.AsType[*smart.ReadError](r.err); ok {
		return r.err.Error() // names it already
	}
	return r.source + ": " + r.err.Error()
}

// printer shows reports as they come. close ends the output.
type printer interface {
	print(report) error
	close() error
}

func (a *app) smart(ctx context.Context, f smartFlags) error {
	if len(f.from) > 0 && len(f.disks) > 0 {
		return exitf(exitUsage, "smart takes disks or --from, not both")
	}
	p := a.printer(f.output)
	understood, seen := 0, 0
	each := func(r report) error {
		seen++
		if r.err == nil {
			understood++
		}
		return p.print(r)
	}
	var err error
	if len(f.from) > 0 {
		err = a.fromFiles(f.from, each)
	} else {
		err = a.fromDisks(ctx, f.disks, each)
	}
	if cerr := p.close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("writing the output: %w", cerr))
	}
	switch {
	case err != nil:
		return err
	case understood == 0:
		return fmt.Errorf("not one of %d reports could be understood", seen)
	}
	return nil
}

func (a *app) printer(output string) printer {
	switch output {
	case "json":
		return &jsonPrinter{w: a.stdout}
	case "jsonl":
		return newJSONLinesPrinter(a.stdout)
	case "prometheus":
		return &prometheusPrinter{w: a.stdout, complain: a.complain}
	}
	return &tablePrinter{w: a.stdout, colour: isTerminal(a.stdout)}
}

// fromFiles reads reports of files in order. A file that cannot be opened does not keep the others from being shown.
func (a *app) fromFiles(files []string, each func(report) error) error {
	a.letGo() // a pipe may have no writer, and standard input be a keyboard; nothing is to be put in order
	var errs []error
	for _, name := range files {
		if err := a.fromFile(name, each); err != nil {
			errs = append(errs, fmt.Errorf("reading %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (a *app) fromFile(name string, each func(report) error) error {
	in, source := a.stdin, "file:-"
	switch name {
	case "-":
	case "":
		return exitf(exitUsage, "--from needs the name of a file, or - for standard input")
	default:
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in, source = f, "file:"+name
	}
	start := time.Now()
	return smart.Decode(in, source, func(r *smart.Reading, err error) error {
		out := understand(name, r, err)
		out.took = time.Since(start)
		defer func() { start = time.Now() }()
		return each(out)
	})
}

// understand interprets a reading.
func understand(source string, r *smart.Reading, err error) report {
	out := report{source: source, reading: r, err: err}
	switch {
	case err != nil:
	case r == nil:
		out.err = errors.New("the report is empty")
	default:
		out.health = smart.Interpret(r)
	}
	return out
}

// isTerminal says whether w shows colours; NO_COLOR says that they are not wanted.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	return isTTY(f.Fd())
}
