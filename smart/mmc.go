package smart

import (
	"fmt"
	"strconv"

	"ssd_exporter/blockdev"
)

// readMMC fills r from what the kernel keeps in sysfs (life_time and pre_eol_info): no command is sent. An SD card, and an
// eMMC older than version 5.0, has neither file.
func readMMC(d blockdev.Disk, r *Reading) error {
	r.Protocol = "MMC"
	life, err := parseMMCLife(d.LifeTime, d.PreEOL)
	if err != nil {
		return err
	}
	r.RotationRate = new(0)
	r.MMC = life
	return nil
}

// parseMMCLife reads the hexadecimal fields DEVICE_LIFE_TIME_EST_TYP_A and _B and PRE_EOL_INFO (JEDEC eMMC 5.0, EXT_CSD 268,
// 269, 267).
func parseMMCLife(lifeTime []string, preEOL string) (*MMCLife, error) {
	if len(lifeTime) == 0 {
		return nil, fmt.Errorf("%w: the card tells no life time", errUnsupported)
	}
	if len(lifeTime) != 2 {
		return nil, fmt.Errorf("life_time: %w: %d fields instead of 2", errParse, len(lifeTime))
	}
	var out [3]uint8
	for i, field := range []string{lifeTime[0], lifeTime[1], preEOL} {
		if field == "" && i == 2 {
			continue
		}
		v, err := strconv.ParseUint(field, 0, 8)
		if err != nil {
			return nil, fmt.Errorf("life_time or pre_eol_info: %w: %q", errParse, field)
		}
		out[i] = uint8(v)
	}
	return &MMCLife{TypeA: out[0], TypeB: out[1], PreEOL: out[2]}, nil
}
