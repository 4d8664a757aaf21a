import type { AutoApproval } from "../controllers/clusters/cluster-approving-policy.ts";
import type { ServingApproval } from "../controllers/certificates/serving-approving.ts";
import { asOptionError } from "../apimachinery/option-error.ts";
import { readClusterRegistration } from "../config-files/cluster-registration.ts";
import { readServingApproval } from "../config-files/serving-approval.ts";
import type { NamedFiles } from "../host/read-text.ts";
import { trustBundleOf, type ClusterAccess, type TrustBundle } from "./trust-bundle.ts";
import type { Client, ResourceRef } from "../client/client.ts";
import { getOrUndefined } from "../client/api-errors.ts";
import type { ApiObject } from "../apimachinery/object.ts";

/** Which controllers run, and the files that configure them. */
export interface ControllerOptions {
  /** Any of `access-request`, `serving-approving` and `registration`. */
  readonly names: readonly string[];
  readonly caFile: string | undefined;
  readonly servingApproval: { readonly providers: readonly string[]; readonly configFile: string | undefined };
  readonly registrationFile: string | undefined;
}

/** The inputs of the controllers that run; absent for those that do not. */
export interface ControllerPlan {
  readonly ca: TrustBundle | undefined;
  readonly serving: ServingApproval | undefined;
  readonly clusters: readonly AutoApproval[] | undefined;
}

/** Reads the files that the options name. @throws OptionError usage; PinError; what the API rejects with */
export async function controllerPlan(
  { names, caFile, servingApproval, registrationFile }: ControllerOptions,
  cluster: ClusterAccess,
  files: NamedFiles,
): Promise<ControllerPlan> {
  try {
    return {
      ca: names.includes("access-request") ? await trustBundleOf(caFile, cluster, files) : undefined,
      serving: names.includes("serving-approving") ? await servingPlan(servingApproval, cluster) : undefined,
      clusters: names.includes("registration") ? await registrationRules(registrationFile) : undefined,
    };
  } catch (error) {
    throw asOptionError(error);
  }
}

/** Which clusters are accepted automatically; none without a file. */
async function registrationRules(file: string | undefined): Promise<readonly AutoApproval[]> {
  return file === undefined ? [] : readClusterRegistration(file);
}

async function servingPlan(
  flags: ControllerOptions["servingApproval"],
  { client, config }: ClusterAccess,
): Promise<ServingApproval> {
  // A mistake in the flags is reported before any request to the server.
  await readServingApproval(flags, []);
  return readServingApproval(flags, await apiNames(client, config.server));
}

const services = core("Service", "services");
const endpoints = core("Endpoints", "endpoints");

interface Service extends ApiObject {
  readonly spec?: { readonly clusterIP?: string; readonly clusterIPs?: readonly string[] };
}

interface Endpoints extends ApiObject {
  readonly subsets?: readonly { readonly addresses?: readonly { readonly ip: string }[] }[];
}

/** The names and addresses of a cluster's API: that of the kubeconfig, and those of Service default/kubernetes. */
async function apiNames(client: Client, server: string): Promise<readonly string[]> {
  const { hostname } = new URL(server);
  const key = { namespace: "default", name: "kubernetes" };
  const service = await getOrUndefined<Service>(client, services, key);
  const behind = await getOrUndefined<Endpoints>(client, endpoints, key);
  const { clusterIP, clusterIPs = [] } = service?.spec ?? {};
  const addresses = (behind?.subsets ?? []).flatMap((subset) => (subset.addresses ?? []).map(({ ip }) => ip));
  return [
    hostname.replace(/^\[(.*)\]$/, "$1"),
    ...(clusterIP === undefined ? [] : [clusterIP]),
    ...clusterIPs,
    ...addresses,
  ];
}

function core(kind: string, plural: string): ResourceRef {
  return { group: "", version: "v1", kind, plural, scope: "Namespaced" };
}
