# The same policy as modules were written before Rego v1.
package k8s

import future.keywords

default allow = false

verb := input.spec.resourceAttributes.verb

allow {
	"admin" in input.spec.groups
	verb in ["create", "list", "delete", "update"]
}

allow {
	"conf" in input.spec.groups
	verb == "list"
}
