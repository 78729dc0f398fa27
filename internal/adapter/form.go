package adapter

import (
	"bytes"
	"io"
	"maps"
	"mime/multipart"
	"slices"
)

// FormBody returns a form that the framework has parsed as the body of a request. The parts are
// sorted by name: the same form must give the same body, and the framework's own order is that
// of a map.
func FormBody(form *multipart.Form, boundary string) ([]byte, error) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.SetBoundary(boundary); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(form.Value)) {
		for _, value := range form.Value[name] {
			if err := w.WriteField(name, value); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(form.File)) {
		for _, file := range form.File[name] {
			if err := copyFile(w, file); err != nil {
				return nil, err
			}
		}
	}
	err := w.Close()
	return body.Bytes(), err
}

func copyFile(w *multipart.Writer, header *multipart.FileHeader) error {
	part, err := w.CreatePart(header.Header)
	if err != nil {
		return err
	}
	file, err := header.Open()
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // read-only
	_, err = io.Copy(part, file)
	return err
}
