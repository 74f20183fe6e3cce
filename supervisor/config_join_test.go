package supervisor_test

import (
	"strings"
	"testing"

	"github.com/weirflow/weir/supervisor"
)

// Deploy joins what is wrong, but validate returns with the first field.
func TestAllFieldsOfAConfigurationAreNamed(t *testing.T) {
	_, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{Grace: -1, DrainWithin: -1}), luckPipeline(), nil)
	if err == nil || !strings.Contains(err.Error(), "Grace") || !strings.Contains(err.Error(), "DrainWithin") {
		t.Errorf("got %v", err)
	}
}
