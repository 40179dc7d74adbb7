package setting

import (
	"fmt"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/internal/config"
)

// Wide warns of projects that are the whole system or somebody's whole home. They are granted all the same: the operator
// says so. What a client may declare is narrower (contract §2).
func Wide(projects []rootbound.Project) (warnings []string) {
	for _, p := range projects {
		if what := authority.Width(p.Dir); what != "" {
			warnings = append(warnings, fmt.Sprintf("Warning: %s is %s. All of it is granted (%s) but what rules deny, other programs' settings and documents included; name the directories that are needed instead",
				rootbound.Clean(p.Dir), what, config.Granted(p)))
		}
	}
	return warnings
}
