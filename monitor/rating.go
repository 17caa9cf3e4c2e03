package monitor

import (
	"path"
	"strings"
	"time"

	"ssd_exporter/smart"
)

const year = 365 * 24 * time.Hour

// rating is the published endurance of a model: the first match of the configured ones, else the built-in table; nil when
// neither knows it.
func rating(configured []Rating, model string) *Rating {
	model = strings.TrimSpace(model)
	if model == "" {
		return nil
	}
	lower := strings.ToLower(model)
	for _, r := range configured {
		if ok, err := path.Match(strings.ToLower(r.Model), lower); ok && err == nil {
			r.Model = model
			return &r
		}
	}
	bytes, years, _, ok := smart.RatedBytes(model)
	if !ok || bytes <= 0 {
		return nil
	}
	return &Rating{Model: model, Bytes: uint64(bytes), Term: time.Duration(years) * year}
}
