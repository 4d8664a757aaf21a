import type { Option } from "../command.ts";

/** `--query`. */
const queryOption: Option = {
  name: "query",
  kind: "text",
  value: "data.PATH",
  default: "data.k8s.allow",
  description: "the rule that decides; for a bundle its entry point",
};

/** The options that say what decides: one of four kinds of policy. */
export const policyOptions: readonly Option[] = [
  {
    name: "policy",
    kind: "text",
    value: "FILE|DIR",
    completes: "file",
    description: "the Rego source, or a folder with .rego files; files that end in _test.rego are left out",
  },
  queryOption,
  {
    name: "bundle",
    kind: "text",
    value: "FILE",
    completes: "file",
    description: "in place of --policy: Rego that `opa build -t wasm` compiled, as a .tar.gz or a .wasm",
  },
  {
    name: "cel",
    kind: "text",
    value: "FILE",
    completes: "file",
    description: "in place of --policy: a CelPolicy in YAML, or one expression in a file that ends in .cel",
  },
  {
    name: "opa-url",
    kind: "text",
    value: "URL",
    description:
      "in place of --policy: an OPA server; http:// only on this machine, https:// through HTTPS_PROXY but for what NO_PROXY lists",
  },
  {
    name: "opa-ca-file",
    kind: "text",
    value: "FILE",
    completes: "file",
    description: "the CA of that server; default those of the system",
  },
  {
    name: "opa-token-file",
    kind: "text",
    value: "FILE",
    completes: "file",
    description: "a bearer token for that server",
  },
  {
    name: "opa-timeout",
    kind: "duration",
    value: "DURATION",
    default: "3s",
    description: "the maximum time for one answer of that server; up to 30s",
  },
];
