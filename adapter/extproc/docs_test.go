package interlockextproc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	extprocfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// The configuration of Envoy in the documents is valid by Envoy's own definitions, and
// does not fail open.
func TestDocumentedConfiguration(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "envoy.md"))
	if err != nil {
		t.Fatal(err)
	}
	var bootstrap bootstrapv3.Bootstrap
	readYAML(t, string(page), "static_resources:", &bootstrap)
	if err := bootstrap.ValidateAll(); err != nil {
		t.Error(err)
	}
	var manager hcmv3.HttpConnectionManager
	unpack(t, bootstrap.GetStaticResources().GetListeners()[0].GetFilterChains()[0].GetFilters()[0].GetTypedConfig(), &manager)
	if err := manager.ValidateAll(); err != nil {
		t.Error(err)
	}
	var filter extprocfilterv3.ExternalProcessor
	unpack(t, manager.GetHttpFilters()[0].GetTypedConfig(), &filter)
	if err := filter.ValidateAll(); err != nil {
		t.Error(err)
	}
	if filter.GetFailureModeAllow() || !filter.GetAllowModeOverride() || len(filter.GetResponseAttributes()) != 2 {
		t.Errorf("the filter is %v", &filter)
	}
	for name, route := range manager.GetRouteConfig().GetVirtualHosts()[0].GetRoutes()[0].GetTypedPerFilterConfig() {
		var disabled extprocfilterv3.ExtProcPerRoute
		unpack(t, route, &disabled)
		if err := disabled.ValidateAll(); err != nil || !disabled.GetDisabled() || name != manager.GetHttpFilters()[0].GetName() {
			t.Errorf("the route disables %q: %v %v", name, &disabled, err)
		}
	}
}

// readYAML reads the YAML block of a page that begins with first.
func readYAML(t *testing.T, page, first string, into *bootstrapv3.Bootstrap) {
	t.Helper()
	_, text, found := strings.Cut(page, "```yaml\n"+first)
	text, _, end := strings.Cut(text, "```")
	if !found || !end {
		t.Fatalf("the page has no block that begins with %s", first)
	}
	json, err := yaml.YAMLToJSON([]byte(first + text))
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(json, into); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, from *anypb.Any, into proto.Message) {
	t.Helper()
	if err := from.UnmarshalTo(into); err != nil {
		t.Fatal(err)
	}
}
