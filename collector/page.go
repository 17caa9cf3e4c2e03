package collector

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// page is the families of one snapshot in one format, unfinished: the live families follow. Both forms are made once, when first
// asked for, and never change.
type page struct {
	plain func() ([]byte, error)
	// deflated is the plain form as deflate blocks that end on a byte border, so that more blocks can follow.
	deflated func() ([]byte, error)
}

func newPage(families []*dto.MetricFamily, format expfmt.Format) *page {
	p := &page{plain: sync.OnceValues(func() ([]byte, error) { return encode(families, format, false) })}
	p.deflated = sync.OnceValues(func() ([]byte, error) {
		plain, err := p.plain()
		if err != nil {
			return nil, err
		}
		return deflate(plain, flate.DefaultCompression, false)
	})
	return p
}

// gzipped makes one gzip member (RFC 1952) of the page and the live part after it. Two members in a row would be legal, but curl
// and others stop silently after the first.
func (p *page) gzipped(live []byte) ([][]byte, error) {
	plain, err := p.plain()
	if err != nil {
		return nil, err
	}
	first, err := p.deflated()
	if err != nil {
		return nil, err
	}
	last, err := deflate(live, flate.BestSpeed, true)
	if err != nil {
		return nil, err
	}
	header := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff} // deflate, no flags, no time, unknown system
	sum := crc32.Update(crc32.ChecksumIEEE(plain), crc32.IEEETable, live)
	trailer := binary.LittleEndian.AppendUint32(nil, sum)
	trailer = binary.LittleEndian.AppendUint32(trailer, uint32(len(plain)+len(live))) // modulo 2^32, says the RFC
	return [][]byte{header, first, last, trailer}, nil
}

// encode writes families one after the other; last adds what ends a page ("# EOF" in OpenMetrics).
func encode(families []*dto.MetricFamily, format expfmt.Format, last bool) ([]byte, error) {
	var b bytes.Buffer
	enc := expfmt.NewEncoder(&b, format)
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return nil, fmt.Errorf("encode the metric %s as %s: %w", f.GetName(), format, err)
		}
	}
	if closer, ok := enc.(expfmt.Closer); ok && last {
		if err := closer.Close(); err != nil {
			return nil, fmt.Errorf("end a page of metrics as %s: %w", format, err)
		}
	}
	return b.Bytes(), nil
}

func deflate(data []byte, level int, last bool) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	if err != nil {
		return nil, fmt.Errorf("compress a page of metrics: %w", err)
	}
	_, err = w.Write(data)
	if err == nil {
		finish := w.Flush
		if last {
			finish = w.Close
		}
		err = finish()
	}
	if err != nil {
		return nil, fmt.Errorf("compress a page of metrics: %w", err)
	}
	return b.Bytes(), nil
}

// write sends the parts and stops at the first that fails: the client has gone.
func write(w io.Writer, parts [][]byte) {
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}
