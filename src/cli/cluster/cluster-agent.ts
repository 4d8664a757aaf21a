import { readText } from "../../host/read-text.ts";
import { resolve } from "node:path";
import { readBootstrapHub } from "../../agent/klusterlet/bootstrap-hub.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { dnsLabelProblems } from "../../apimachinery/names.ts";
import { externalServers } from "../agent/klusterlet-world.ts";
import { checkedText, type CliError, usageError } from "../cli-error.ts";
import type { Run } from "../command.ts";
import type { Io } from "../io.ts";
import { warnOfOpenKubeconfigFile } from "../open-secrets.ts";
import { klusterletObjects } from "../../operator/manifests/klusterlet.ts";
import { yamlText } from "../yaml-text.ts";

/** Prints the objects that the agent of a cluster needs to run in it, as YAML documents in the order of creation. */
export const clusterAgent: Run = async (args, io) => {
  const namespace = checkedText(args, "namespace", dnsLabelProblems);
  const clusterName = args.text("cluster-name");
  if (clusterName !== undefined) checkedText(args, "cluster-name", dnsLabelProblems);
  const file = args.text("bootstrap-kubeconfig");
  const objects = klusterletObjects({
    namespace,
    clusterName,
    image: args.text("image") ?? "",
    externalServers: externalServers(args),
    bootstrap: file === undefined ? undefined : await bootstrapText(file, io),
    managedNamespaces: args.on("managed-namespaces"),
    outside: args.on("no-workloads"),
  });
  io.stdout.write(objects.map((object) => yamlText({ ...object })).join("---\n"));
};

/** The text of a bootstrap kubeconfig that a pod can use: one that refers to no other file. @throws CliError usage */
async function bootstrapText(file: string, io: Io): Promise<string> {
  const path = resolve(io.cwd, file);
  const text = await readText("bootstrap-kubeconfig", file, io);
  await warnOfOpenKubeconfigFile(path, io);
  let problem: CliError | undefined;
  try {
    const readFile = async (asked: string): Promise<Uint8Array> => {
      if (asked === path) return Buffer.from(text);
      problem = usageError(`${file} refers to ${asked}, which a pod does not have: put its contents into it`);
      throw problem;
    };
    const { program } = await readBootstrapHub(path, { readFile, clock: io.clock });
    if (program !== undefined) {
      throw usageError(`${file} names the program ${program}, which a pod does not have: use a token`);
    }
  } catch (error) {
    throw problem ?? (error instanceof JoinError ? usageError(error.message) : error);
  }
  return text;
}
