import { defineOptions, type Option } from "../command.ts";
import { serverOptions } from "../server-options.ts";

/** The options that say what decides: one of four kinds of policy. */
export const policyOptions: readonly Option[] = defineOptions({
  "--policy FILE|DIR": "the Rego source, or a folder with .rego files; files that end in _test.rego are left out",
  "--query data.PATH = data.k8s.allow": "the rule that decides; for a bundle its entry point",
  "--bundle FILE": "in place of --policy: Rego that `opa build -t wasm` compiled, as a .tar.gz or a .wasm",
  "--cel FILE": "in place of --policy: a CelPolicy in YAML, or one expression in a file that ends in .cel",
  "--opa-url URL":
    "in place of --policy: an OPA server; http:// only on this machine, https:// through HTTPS_PROXY but for what NO_PROXY lists",
  "--opa-ca-file FILE": "the CA of that server; default those of the system",
  "--opa-token-file FILE": "a bearer token for that server",
  "--opa-timeout DURATION = 3s": "the maximum time for one answer of that server; up to 30s",
});

/** The options that describe a chain of authorizers that is not in force yet. */
export const proposedOptions: readonly Option[] = [
  ...defineOptions({
    "--authorization-mode MODES...": {
      choices: ["Node", "RBAC", "ABAC", "Webhook", "AlwaysAllow", "AlwaysDeny"],
      description:
        "who decides, in order; default Node,RBAC, and Webhook after them where one is named or a policy given",
    },
    "--authorization-config FILE": "an AuthorizationConfiguration (apiserver.config.k8s.io/v1) in place of modes",
    "--authorization-policy-file FILE": "the policies of mode ABAC",
    "--authorization-webhook-config-file FILE":
      "the service that mode Webhook asks; it is really asked, unless a policy stands in for it",
    "--authorization-webhook-version VERSION = v1beta1": {
      choices: ["v1", "v1beta1"],
      description: "which SubjectAccessReview that service speaks",
    },
  }),
  ...policyOptions,
  ...defineOptions({
    "--rbac FILE...":
      "roles and bindings in YAML or JSON, as kubectl applies or prints them; may be given several times, later objects take the place of earlier ones of the same name",
    "--rbac-base WHICH = defaults": {
      choices: ["defaults", "server", "none"],
      description:
        "what --rbac comes on top of: the roles that Kubernetes, kubeadm and a hub have from the start; those of the server that --kubeconfig leads to, as they are; or nothing, for a dump of all that there is",
    },
    "--namespace NAME = default": { short: "n", description: "where objects of --rbac lie that name no namespace" },
  }),
  ...serverOptions,
];
