package k8s_test

import data.k8s

review(groups, verb) := {"spec": {"groups": groups, "resourceAttributes": {"verb": verb, "resource": "pods"}}}

test_admin_changes if {
	every verb in {"create", "list", "delete", "update"} {
		k8s.allow with input as review(["admin"], verb)
	}
}

test_admin_does_not_watch if not k8s.allow with input as review(["admin"], "watch")

test_conf_only_lists if {
	k8s.allow with input as review(["conf"], "list")
	not k8s.allow with input as review(["conf"], "delete")
}

test_others_may_nothing if not k8s.allow with input as review(["system:authenticated"], "list")

test_paths_are_none_of_its_business if not k8s.allow with input as {"spec": {
	"groups": ["admin"],
	"nonResourceAttributes": {"path": "/metrics", "verb": "get"},
}}
