# Two groups: admin may create, list, delete and update, and not watch; conf may only list. Other users may do nothing.
package k8s

default allow := false

permissions := {
	"admin": {"create", "list", "delete", "update"},
	"conf": {"list"},
}

allow if {
	some group in input.spec.groups
	input.spec.resourceAttributes.verb in permissions[group]
}

# The same with a reason, which the API server adds to what it prints.
decision := {"allow": allow, "reason": reason}

default reason := "neither in group admin nor in group conf"

reason := concat("; ", rights) if count(rights) > 0

rights := [right |
	some group in input.spec.groups
	right := sprintf("%s may %s", [group, concat(", ", permissions[group])])
]
