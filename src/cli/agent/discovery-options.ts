import type { Operand, Option } from "../command.ts";

/** Where the hub is. */
export const hubOperand: Operand = {
  name: "HOST:PORT|URL",
  required: false,
  many: false,
  description: "where the hub is; not with --discovery-file or --bootstrap-kubeconfig, which say so themselves",
};

/** How a hub is found and proven, for every command that joins. */
export const discoveryOptions: readonly Option[] = [
  {
    name: "token",
    kind: "text",
    value: "TOKEN",
    description: "the bootstrap token; --token-file is the better place for it",
  },
  {
    name: "token-file",
    kind: "text",
    value: "FILE",
    completes: "file",
    description: "a file that holds the bootstrap token and nothing else; - for standard input",
  },
  {
    name: "discovery-token-ca-cert-hash",
    kind: "list",
    value: "PIN",
    description: "sha256:<hex> of the public key of the hub's CA; may be given several times",
  },
  {
    name: "discovery-token-unsafe-skip-ca-verification",
    kind: "boolean",
    default: "false",
    description:
      "trust any server that knows the token, without a pin: another holder of the token could pose as the hub",
  },
  {
    name: "discovery-file",
    kind: "text",
    value: "FILE|URL",
    completes: "file",
    description: "a kubeconfig that vouches for the hub, as a file or at an https:// URL",
  },
  {
    name: "bootstrap-kubeconfig",
    kind: "text",
    value: "FILE",
    completes: "file",
    description: "a kubelet's bootstrap kubeconfig: address, CA and credential",
  },
];
