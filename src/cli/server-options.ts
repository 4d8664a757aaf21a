import type { Option } from "./command.ts";

/** The options of every command that talks to a server. */
export const serverOptions: readonly Option[] = [
  {
    name: "kubeconfig",
    kind: "text",
    value: "FILE",
    completes: "file",
    description:
      "how to reach the server and who to be there; else the files of $KUBECONFIG, else ~/.kube/config, else the admin kubeconfig of a hub in ./pratique-data",
  },
  {
    name: "context",
    kind: "text",
    value: "NAME",
    description: "the context of the kubeconfig to use, instead of its current one",
  },
];
