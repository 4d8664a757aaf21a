import type { JsonObject } from "../../core/json-value.ts";
import { dnsLabelProblems } from "../../core/names.ts";
import { clusterDefinitions } from "../../resources/cluster-definitions.ts";
import { stringAt } from "../../resources/json-fields.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { accessDefinitions } from "./manifests/access-definitions.ts";
import { accessRbac, accountNames } from "./manifests/access-rbac.ts";
import { accessWorkloads } from "./manifests/access-workloads.ts";
import { clusterRbac, conversionRbac } from "./manifests/cluster-rbac.ts";
import { addOnDefinitionName, clusterWebhookConfigurations, convertedAddOns } from "./manifests/cluster-webhooks.ts";
import { webhookConfigurations, type InventoryGuard, type WebhookPlace } from "./manifests/webhook-configurations.ts";
import { readText } from "../read-text.ts";
import { yamlText } from "../yaml-text.ts";

/** Prints everything that access requests need on a cluster, as documents of YAML in the order in which they are to be made. */
export async function runManifests(args: Args, io: Io): Promise<ExitName> {
  const namespace = args.text("namespace") ?? "";
  const [problem] = dnsLabelProblems(namespace);
  if (problem !== undefined) throw new CliError("usage", `--namespace ${JSON.stringify(namespace)}: ${problem}`);
  const url = args.text("webhook-url");
  const caFile = args.text("webhook-ca-file");
  const ca = caFile === undefined ? undefined : await readText("webhook-ca-file", caFile, io);
  const place = placeOf(url, namespace);
  const clusters = args.on("managed-clusters");
  const olderAddOns = asksForOlderAddOns(args);
  const workloads = { clusters, olderAddOns, namespace, image: args.text("image") ?? "", webhook: url === undefined };
  const definitions = clusterDefinitions().map((one) =>
    olderAddOns && stringAt(one, "metadata", "name") === addOnDefinitionName ? convertedAddOns(place, ca) : one,
  );
  const documents: readonly JsonObject[] = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    ...accessDefinitions({ rules: args.on("cel") }),
    ...(clusters ? definitions : []),
    ...accessRbac(namespace).map((object) => ({ ...object })),
    ...(clusters ? clusterRbac(namespace).map((object) => ({ ...object })) : []),
    ...(olderAddOns ? conversionRbac(namespace).map((object) => ({ ...object })) : []),
    ...(args.on("no-workloads") ? [] : accessWorkloads(workloads).map((object) => ({ ...object }))),
    ...webhookConfigurations(place, ca, { inventory: guardOfInventory(args) }),
    ...(clusters ? clusterWebhookConfigurations(place, ca) : []),
  ];
  io.stdout.write(documents.map(yamlText).join("---\n"));
  return "ok";
}

function guardOfInventory(args: Args): InventoryGuard {
  if (!args.on("node-inventory")) return "unguarded";
  return args.on("cel") ? "by-name" : "configmaps";
}

/** Whether add-ons are served in their older version too. @throws CliError usage where clusters are no concern */
export function asksForOlderAddOns(args: Args): boolean {
  if (!args.on("older-add-ons")) return false;
  if (!args.on("managed-clusters")) throw new CliError("usage", "--older-add-ons needs --managed-clusters");
  return true;
}

/** Where the webhook is. @throws CliError usage for a URL that kube-apiserver would refuse */
export function placeOf(url: string | undefined, namespace: string, option = "--webhook-url"): WebhookPlace {
  if (url === undefined) return { service: { namespace, name: accountNames.webhook } };
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isPlain =
    parsed?.protocol === "https:" && `${parsed.username}${parsed.password}${parsed.search}${parsed.hash}` === "";
  if (!isPlain) throw new CliError("usage", `${option} ${JSON.stringify(url)}: must be https://HOST[:PORT][/PATH]`);
  return { url };
}
