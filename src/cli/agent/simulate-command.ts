import type { Command } from "../command.ts";
import { discoveryOptions, hubOperand } from "./discovery-options.ts";
import { outputOption } from "../output.ts";

/** `pratique simulate`. */
export const simulateCommand: Command = {
  name: "simulate",
  summary: "Load-test a hub with simulated machines",
  details: [
    "Each machine is the real agent with its files in memory: it joins with the token, rotates its certificate, and renews its Lease as a kubelet does. No Node objects are made. Leases (in kube-node-lease), certificates and their requests stay on the hub, under names that begin with --name-prefix: a second run needs another prefix.",
    "It ends after --duration, or at SIGINT, and prints what the machines have seen, and why machines have not joined. The exit code is 1 where a machine did not come in, was lost, or was given another identity.",
  ],
  operands: [hubOperand],
  options: [
    ...discoveryOptions,
    {
      name: "machines",
      kind: "integer",
      value: "COUNT",
      default: "100",
      description: "the number of machines; the maximum is 20000",
    },
    {
      name: "name-prefix",
      kind: "text",
      value: "PREFIX",
      default: "simulated-",
      description: "what the names of the machines begin with; a number follows",
    },
    {
      name: "beat",
      kind: "duration",
      value: "DURATION",
      default: "10s",
      description: "how often each renews its Lease",
    },
    {
      name: "spread",
      kind: "duration",
      value: "DURATION",
      default: "10s",
      description: "the time over which they begin to join",
    },
    {
      name: "duration",
      kind: "duration",
      value: "DURATION",
      default: "1m",
      description: "how long they live; 0 until SIGINT",
    },
    outputOption,
  ],
  examples: [
    {
      line: "simulate 127.0.0.1:6443 --token-file token --discovery-token-ca-cert-hash sha256:… --machines 1000 --duration 15m",
      note: "a thousand machines for a quarter of an hour",
    },
  ],
  run: async (args, io) => (await import("./run-simulate.ts")).runSimulate(args, io),
};
