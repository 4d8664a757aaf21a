import { defineOptions, type Option } from "./command.ts";

/** The options of every command that talks to a server. */
export const serverOptions: readonly Option[] = defineOptions({
  "--kubeconfig FILE":
    "how to reach the server and who to be there; else the files of $KUBECONFIG, else ~/.kube/config, else the admin kubeconfig of a hub in ./pratique-data",
  "--context NAME": "the context of the kubeconfig to use, instead of its current one",
});
