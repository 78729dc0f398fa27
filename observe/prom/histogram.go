package prom

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/interlock-go/interlock"
	buckets "github.com/interlock-go/interlock/internal/histogram"
)

// A constHistogram is a histogram with classic and native buckets. The library's own
// constant histograms have one or the other.
type constHistogram struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	counts interlock.Histogram
}

// Histogram returns a metric with the counts of h, for other collectors.
func Histogram(desc *prometheus.Desc, h interlock.Histogram, labels ...string) prometheus.Metric {
	return constHistogram{desc, prometheus.MakeLabelPairs(desc, labels), h}
}

// Desc implements [prometheus.Metric].
func (h constHistogram) Desc() *prometheus.Desc { return h.desc }

// Write implements [prometheus.Metric].
func (h constHistogram) Write(out *dto.Metric) error {
	d := &dto.Histogram{SampleCount: &h.counts.Count, SampleSum: new(float64), Schema: new(int32), ZeroThreshold: new(float64), ZeroCount: new(uint64)}
	*d.SampleSum, *d.Schema = h.counts.Sum.Seconds(), buckets.Schema
	for i, n := range h.counts.Classic {
		bound := buckets.Bounds[i].Seconds()
		d.Bucket = append(d.Bucket, &dto.Bucket{UpperBound: &bound, CumulativeCount: &n})
	}
	for _, e := range h.counts.Exemplars {
		// Prometheus allows one exemplar per classic bucket; the text formats have them there.
		i, _ := slices.BinarySearch(buckets.Bounds[:], e.Value)
		if i == len(d.Bucket) {
			bound := math.Inf(1)
			d.Bucket = append(d.Bucket, &dto.Bucket{UpperBound: &bound, CumulativeCount: &h.counts.Count})
		}
		d.Bucket[i].Exemplar = exemplar(e)
		d.Exemplars = append(d.Exemplars, d.Bucket[i].Exemplar)
	}
	d.PositiveSpan, d.PositiveDelta = spans(h.counts.Native)
	out.Label, out.Histogram = h.labels, d
	return nil
}

// traceLabel is the label that dashboards turn into a link to the trace.
var traceLabel = "trace_id"

func exemplar(e buckets.Exemplar) *dto.Exemplar {
	value, id := e.Value.Seconds(), strings.ToValidUTF8(e.TraceID, "�")
	return &dto.Exemplar{Label: []*dto.LabelPair{{Name: &traceLabel, Value: &id}}, Value: &value, Timestamp: timestamppb.New(e.At)}
}

// spans returns native buckets in the format of Prometheus: runs of buckets, and the
// difference of each count from the one before.
func spans(native map[int]uint64) (spans []*dto.BucketSpan, deltas []int64) {
	next, last := 0, int64(0)
	for _, i := range slices.Sorted(maps.Keys(native)) {
		if len(spans) == 0 || i != next {
			offset, length := int32(i-next), uint32(0) //nolint:gosec // there are 289 buckets
			spans = append(spans, &dto.BucketSpan{Offset: &offset, Length: &length})
		}
		*spans[len(spans)-1].Length++
		count := int64(native[i]) //nolint:gosec // 2^63 durations are out of reach
		deltas = append(deltas, count-last)
		next, last = i+1, count
	}
	if len(spans) == 0 { // marks an empty histogram as native
		spans = []*dto.BucketSpan{{Offset: new(int32), Length: new(uint32)}}
	}
	return spans, deltas
}
