import type { Command } from "../command.ts";
import { klusterletOptions } from "./klusterlet-options.ts";
import { logOptions } from "../log-options.ts";
import { outputOption } from "../output.ts";

/** `pratique klusterlet`. */
export const klusterletCommand: Command = {
  name: "klusterlet",
  summary: "Make this cluster one of a hub's and keep it so: register, beat, report, renew",
  details: [
    "The agent's id and key are made here and kept before the hub hears of them; the key never leaves this cluster. Two people on the hub decide: one approves the certificate, one accepts the cluster. The log says what is waited for and what they type; the agent id is for them to compare.",
    "It stays, renews its certificate with 20 to 25 % of its life left, and follows the hub when that changes its CA or its address. Hubs are ours or those of Open Cluster Management.",
    "With --leave the agent detaches the cluster from the hub and then removes its files here.",
  ],
  operands: [],
  options: [
    ...klusterletOptions,
    {
      name: "hub-timeout",
      kind: "duration",
      value: "DURATION",
      default: "10m",
      description: "with several hubs: how long one may take no heartbeat before the next is tried",
    },
    {
      name: "health-address",
      kind: "text",
      value: "HOST:PORT",
      description:
        "where to answer GET /livez, and /readyz with 200 while the cluster is available on its hub, over plain HTTP; default nowhere",
    },
    { name: "leave", kind: "boolean", default: "false", description: "take this cluster off its hub and end" },
    {
      name: "force",
      kind: "boolean",
      default: "false",
      description: "with --leave: also when the hub cannot be reached",
    },
    {
      name: "status",
      kind: "boolean",
      default: "false",
      description:
        "print cluster, agent id and certificate and end, with code 0 if it is good and 1 if not; asks no hub",
    },
    outputOption,
    ...logOptions,
  ],
  examples: [
    {
      note: "for a cluster with an API",
      line: "klusterlet --bootstrap-kubeconfig hub.kubeconfig --cluster-name east --spoke-kubeconfig admin.kubeconfig",
    },
    {
      note: "for a machine that has none",
      line: "klusterlet --bootstrap-kubeconfig hub.kubeconfig --cluster-name edge-7 --dir /var/lib/pratique/klusterlet",
    },
    { note: "to leave", line: "klusterlet --leave --dir /var/lib/pratique/klusterlet" },
  ],
  run: async (args, io) => (await import("./run-klusterlet.ts")).runKlusterlet(args, io),
};
