import type { Command } from "./command.ts";

/** `pratique hub`. */
export const hubCommand: Command = {
  name: "hub",
  summary: "Run a hub: a Kubernetes API with its own CA and store, ready for machines to join",
  details: [
    "Everything the hub keeps lies in its data directory. The first start makes a CA and what machines need to join; each start writes admin.kubeconfig there, which has every right and is readable by its owner only.",
    "SIGINT or SIGTERM lets requests finish and closes the store; a second signal ends the process at once.",
  ],
  operands: [],
  options: [
    {
      name: "data-dir",
      kind: "text",
      value: "DIR",
      default: "./pratique-data",
      completes: "directory",
      description: "where the store, the CA and the admin kubeconfig lie",
    },
    {
      name: "bind-address",
      kind: "text",
      value: "IP",
      default: "127.0.0.1",
      description: "the address to listen on; 0.0.0.0 or :: for all",
    },
    {
      name: "secure-port",
      kind: "integer",
      value: "PORT",
      default: "6443",
      description: "the port to listen on; 0 picks a free one",
    },
    {
      name: "tls-san",
      kind: "list",
      value: "NAME",
      description:
        "a further name or address for the serving certificate; may be given several times. The first is announced where the hub listens on all addresses",
    },
    {
      name: "authorization-mode",
      kind: "list",
      value: "MODES",
      default: "RBAC",
      choices: ["RBAC", "AlwaysAllow", "AlwaysDeny"],
      description: "who decides whether a request may be served, in order",
    },
    {
      name: "anonymous-auth",
      kind: "boolean",
      default: "true",
      description: "serve requests without credentials as system:anonymous; joining with a token needs it",
    },
    {
      name: "token-auth-file",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: 'a CSV file of static tokens: token,user,uid,"group1,group2"',
    },
    {
      name: "cluster-signing-cert-file",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: "the certificate of a CA of your own, with its key in --cluster-signing-key-file",
    },
    {
      name: "cluster-signing-key-file",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: "the private key of that CA",
    },
    {
      name: "cluster-signing-duration",
      kind: "duration",
      value: "DURATION",
      default: "8760h",
      description: "the longest life of a certificate that the hub signs",
    },
    {
      name: "service-account-issuer",
      kind: "list",
      value: "ISSUER",
      default: "https://kubernetes.default.svc",
      description:
        "who tokens of ServiceAccounts are from; of several, the first one stands in new tokens and all are believed",
    },
    {
      name: "service-account-signing-key-file",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: "the private key that signs new tokens; without it the hub makes one of its own, pki/sa.key",
    },
    {
      name: "service-account-key-file",
      kind: "list",
      value: "FILE",
      completes: "file",
      description:
        "further keys whose tokens are believed, public or private, in PEM; may be given several times, for changing the key that signs",
    },
    {
      name: "api-audiences",
      kind: "list",
      value: "NAMES",
      description: "the names of this API, for one of which a token must be meant; default the issuers",
    },
    {
      name: "service-account-max-token-expiration",
      kind: "duration",
      value: "DURATION",
      default: "0",
      description: "the longest life of a token, from 1h; 0 sets no bound",
    },
    {
      name: "service-account-extend-token-expiration",
      kind: "boolean",
      default: "true",
      description: "let tokens of pods hold a year where a kubelet asks for the usual hour",
    },
    {
      name: "no-node-autoapprove",
      kind: "boolean",
      default: "false",
      description:
        "leave out the binding kubeadm:node-autoapprove-bootstrap, so that a person approves each machine; counts at the first start only",
    },
    {
      name: "audit-log-path",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: "append one JSON line per request to this file, at level Metadata",
    },
    {
      name: "max-requests-inflight",
      kind: "integer",
      value: "N",
      default: "4000",
      description: "requests beyond this many at once are answered with 429",
    },
    {
      name: "log-format",
      kind: "text",
      value: "FORMAT",
      choices: ["text", "json"],
      default: "text",
      description: "how log lines on stderr look",
    },
    {
      name: "log-level",
      kind: "text",
      value: "LEVEL",
      choices: ["debug", "info", "warn", "error"],
      default: "info",
      description: "the least that is logged",
    },
  ],
  examples: [
    { note: "a hub for this machine", line: "hub" },
    { note: "a hub that others can reach as hub.example", line: "hub --bind-address 0.0.0.0 --tls-san hub.example" },
  ],
  run: async (args, io) => (await import("./run-hub.ts")).runHub(args, io),
};
