import type { ApiObject } from "../apimachinery/object.ts";
import {
  fieldListAt,
  fieldsAt,
  type Fields,
  isFields,
  isTrueAt,
  numberAt,
  stringAt,
  valueAt,
  withField,
} from "./json-fields.ts";

const podDefaults: Fields = {
  restartPolicy: "Always",
  dnsPolicy: "ClusterFirst",
  terminationGracePeriodSeconds: 30,
  schedulerName: "default-scheduler",
  enableServiceLinks: true,
  securityContext: {},
};

const containerDefaults: Fields = {
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
  resources: {},
};

const probeDefaults: Fields = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
const probes: readonly string[] = ["livenessProbe", "readinessProbe", "startupProbe"];

/** File modes of the volumes from API data: 0644. */
const defaultMode = 420;
const modedVolumes: readonly string[] = ["secret", "configMap", "downwardAPI", "projected"];

/** A pod with its defaults, as clients expect to read it back. Source: pkg/apis/core/v1/defaults.go. */
export function withPodDefaults(pod: ApiObject): ApiObject {
  const spec = fieldsAt(pod, "spec");
  const account = stringAt(spec, "serviceAccountName") || stringAt(spec, "serviceAccount");
  const hostNetwork = isTrueAt(spec, "hostNetwork");
  const complete: Fields = {
    ...filled(spec, podDefaults),
    // A negative period is one second. Source: Convert_v1_Pod_To_core_Pod.
    ...((numberAt(spec, "terminationGracePeriodSeconds") ?? 0) < 0 ? { terminationGracePeriodSeconds: 1 } : {}),
    ...(account === "" ? {} : { serviceAccountName: account, serviceAccount: account }),
    ...mapped(spec, "volumes", volume),
    ...mapped(spec, "initContainers", (one) => container(one, hostNetwork)),
    ...mapped(spec, "containers", (one) => container(one, hostNetwork)),
  };
  return withField(pod, "spec", complete);
}

/** Fills in fields that are absent, null, or an empty string. */
function filled(fields: Fields, defaults: Fields): Fields {
  const missing = Object.entries(defaults).filter(([key]) => {
    const value = valueAt(fields, key);
    return value === undefined || value === null || value === "";
  });
  return missing.length === 0 ? fields : { ...fields, ...Object.fromEntries(missing) };
}

function mapped(fields: Fields, key: string, change: (one: Fields) => Fields): Fields {
  return Array.isArray(fields[key]) ? { [key]: fieldListAt(fields, key).map(change) } : {};
}

function container(one: Fields, hostNetwork: boolean): Fields {
  const withProbes = probes.filter((probe) => isFields(one[probe]));
  return {
    ...filled(one, { ...containerDefaults, imagePullPolicy: pullPolicy(stringAt(one, "image")) }),
    ...mapped(one, "ports", (port) => containerPort(port, hostNetwork)),
    ...mapped(one, "env", environment),
    ...Object.fromEntries(withProbes.map((probe) => [probe, completeProbe(fieldsAt(one, probe))])),
    ...requestsFromLimits(one),
  };
}

function pullPolicy(image: string): string {
  const [reference = "", digest] = image.split("@", 2);
  const tag = /:([^/:]*)$/.exec(reference)?.[1];
  return tag === "latest" || (tag === undefined && digest === undefined) ? "Always" : "IfNotPresent";
}

function containerPort(port: Fields, hostNetwork: boolean): Fields {
  const complete = filled(port, { protocol: "TCP" });
  return hostNetwork && !complete["hostPort"] ? { ...complete, hostPort: complete["containerPort"] } : complete;
}

function environment(variable: Fields): Fields {
  const source = fieldsAt(variable, "valueFrom");
  if (!isFields(source["fieldRef"])) return variable;
  return { ...variable, valueFrom: { ...source, fieldRef: filled(source["fieldRef"], { apiVersion: "v1" }) } };
}

function completeProbe(probe: Fields): Fields {
  const complete = filled(probe, probeDefaults);
  return isFields(complete["httpGet"])
    ? { ...complete, httpGet: filled(complete["httpGet"], { path: "/", scheme: "HTTP" }) }
    : complete;
}

/** The limits of a container are also its default requests. */
function requestsFromLimits(one: Fields): Fields {
  const resources = fieldsAt(one, "resources");
  if (!isFields(resources["limits"])) return {};
  return { resources: { ...resources, requests: { ...resources["limits"], ...fieldsAt(resources, "requests") } } };
}

function volume(one: Fields): Fields {
  const { name, ...sources } = one;
  if (Object.keys(sources).length === 0) return { name, emptyDir: {} };
  const moded = modedVolumes.filter((kind) => isFields(sources[kind]));
  if (moded.length === 0) return one;
  return {
    ...one,
    ...Object.fromEntries(moded.map((kind) => [kind, volumeSource(fieldsAt(sources, kind))])),
  };
}

function volumeSource(source: Fields): Fields {
  return {
    ...filled(source, { defaultMode }),
    ...mapped(source, "sources", (projection) =>
      isFields(projection["serviceAccountToken"])
        ? {
            ...projection,
            serviceAccountToken: filled(projection["serviceAccountToken"], { expirationSeconds: 3600 }),
          }
        : projection,
    ),
  };
}

const computeResources: readonly string[] = ["cpu", "memory"];

/** The QoS class of a pod, from its requests and limits. Source: pkg/apis/core/helper/qos. */
export function qosClassOf(pod: ApiObject): "Guaranteed" | "Burstable" | "BestEffort" {
  const containers = [...fieldListAt(pod, "spec", "containers"), ...fieldListAt(pod, "spec", "initContainers")];
  const requests = containers.map((container) => positive(fieldsAt(container, "resources", "requests")));
  const limits = containers.map((container) => positive(fieldsAt(container, "resources", "limits")));
  if ([...requests, ...limits].every((amounts) => amounts.size === 0)) return "BestEffort";
  const limited = limits.every((amounts) => computeResources.every((name) => amounts.has(name)));
  const equal = computeResources.every((name) => {
    const request = total(requests, name);
    return request === 0 || request === total(limits, name);
  });
  const requested = computeResources.every((name) => total(requests, name) > 0);
  return limited && equal && requested ? "Guaranteed" : "Burstable";
}

function positive(amounts: Fields): ReadonlyMap<string, number> {
  return new Map(
    computeResources.map((name) => [name, quantityValue(amounts[name])] as const).filter(([, amount]) => amount > 0),
  );
}

function total(all: readonly ReadonlyMap<string, number>[], name: string): number {
  return all.reduce((sum, amounts) => sum + (amounts.get(name) ?? 0), 0);
}

const suffixes: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["n", 1e-9],
  ["u", 1e-6],
  ["m", 1e-3],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
  ["T", 1e12],
  ["P", 1e15],
  ["E", 1e18],
  ["Ki", 2 ** 10],
  ["Mi", 2 ** 20],
  ["Gi", 2 ** 30],
  ["Ti", 2 ** 40],
  ["Pi", 2 ** 50],
  ["Ei", 2 ** 60],
]);

/** In thousandths, rounded, the precision of pod accounting; 0 for an invalid quantity. */
function quantityValue(value: unknown): number {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value : "";
  const [, number = "", exponent = "", suffix = ""] =
    /^([0-9]{1,30}(?:\.[0-9]{0,30})?)(?:([eE][-+]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i))?$/.exec(text) ?? [];
  return number === "" ? 0 : Math.round(Number(number + exponent) * (suffixes.get(suffix) ?? 1) * 1000);
}
