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

/** File modes of the volumes that are made of API data: 0644. */
const defaultMode = 420;
const modedVolumes: readonly string[] = ["secret", "configMap", "downwardAPI", "projected"];

/** A pod with what its author left out, as clients expect to read it back. Source: pkg/apis/core/v1/defaults.go. */
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

/** Fills in what is absent, null, or an empty string. */
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

/** What a container may use at most is also what it asks for, unless it asks for less. */
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
