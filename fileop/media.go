package fileop

import (
	"context"
	"io"
	"strings"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
)

// DefaultMedia is the most bytes of one file that are sent as they are.
const DefaultMedia = 10 << 20

// Media is a whole file as bytes.
type Media struct {
	Data    []byte
	MIME    string // "image/…", "audio/…" or application/octet-stream
	Version string
}

// MediaType is the MIME type by the extension of name, in any case, as the official server has them.
func MediaType(name string) string {
	dot := strings.LastIndexByte(name, '.')
	if dot <= strings.LastIndexByte(name, '/')+1 {
		return "application/octet-stream" // a name that only begins with a dot has no extension
	}
	switch strings.ToLower(name[dot:]) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".bmp":
		return "image/bmp"
	case ".svg":
		return "image/svg+xml"
	case ".mp3":
		return "audio/mpeg"
	case ".wav":
		return "audio/wav"
	case ".ogg":
		return "audio/ogg"
	case ".flac":
		return "audio/flac"
	}
	return "application/octet-stream"
}

// ReadMedia reads all of src: too_large if it holds more than limit bytes (0: DefaultMedia), which is found out before
// anything is read where the size says so. name is the reached name, for the type.
func ReadMedia(ctx context.Context, src io.ReaderAt, info beneath.Info, name string, limit int64) (Media, error) {
	if limit <= 0 {
		limit = DefaultMedia
	}
	data, err := readAll(ctx, src, info.Size, limit)
	if err != nil {
		return Media{}, err
	}
	return Media{Data: data, MIME: MediaType(name), Version: info.Version()}, nil
}

// readAll reads to the end, at most limit bytes: too_large beyond.
func readAll(ctx context.Context, src io.ReaderAt, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, tooLarge(size, limit)
	}
	r := &reader{ctx: ctx, src: src}
	data := make([]byte, 0, size+512)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := r.at(data[len(data):min(cap(data), len(data)+4*block)], int64(len(data)))
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return nil, tooLarge(int64(len(data)), limit)
		}
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, effect.Failed(io.ErrNoProgress)
		}
	}
}
